"""Derive requirements/*.txt from pyproject.toml with uv, for maintainers."""

import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADER = "# Derived from pyproject.toml by `make lock`; do not edit.\n"
D2L_HEADER = """\
# d2l asks for versions of 2021 (numpy==1.21.5, ...) that today's Python cannot install,
# and works with today's. So it is installed without what it asks for:
#     pip install --no-deps -r requirements/d2l.txt
"""
SLIDES_HEADER = """\
# Of this package (Apache-2.0) only the files of reveal.js (MIT) are used, so it is
# installed without what it asks for, which is Sphinx.
"""


def compile_pins(uv, *choice):
    """The pins for all systems and Python versions, as a text."""
    command = [uv, "pip", "compile", "--universal", "--python-version", "3.9", *choice]
    command += ["--no-header", "--no-annotate", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("utf-8")


def only_new(text, lock):
    """The pins that another lock does not have already."""
    with open(path_of(lock), encoding="utf-8") as file:
        there = {pin_of(line) for line in file}
    return "".join(line for line in text.splitlines(True) if pin_of(line) not in there)


def pin_of(line):
    return line.partition(";")[0].strip()


def path_of(name):
    return os.path.join(ROOT, "requirements", name)


def write(name, text):
    path = path_of(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEADER + text)
    pins = re.findall(r"^[\w.-]+==", text, re.MULTILINE)
    print(f"requirements/{name}: {len(pins)} pins")


def main():
    uv = shutil.which("uv")
    if not uv:
        sys.exit("make lock needs uv: pip install uv")
    for paddle in "cpu", "gpu":
        extras = ["--extra", paddle, "--extra", "notebooks", "--extra", "test"]
        write(paddle + ".txt", compile_pins(uv, "pyproject.toml", *extras))
    site = ["--extra", "site", "--constraint", path_of("cpu.txt")]
    write("site.txt", only_new(compile_pins(uv, "pyproject.toml", *site), "cpu.txt"))
    alone = ["--no-deps", "--constraint", path_of("cpu.txt")]
    write("slides.txt", SLIDES_HEADER + compile_pins(uv, "--group", "slides", *alone))
    write("d2l.txt", D2L_HEADER + compile_pins(uv, "--group", "d2l", "--no-deps"))


if __name__ == "__main__":
    main()
