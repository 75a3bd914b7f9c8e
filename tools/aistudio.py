"""One zip for AI Studio, Kaggle or Colab: `make aistudio`.

It has the notebooks, each with tools/bundle_cell.py as its first cell, and a folder
packages/ with what they import besides Paddle: the wheel of d2l_ext, made of this tree,
and those files of the installed d2l that its Paddle edition consists of, without what
d2l asks for. tools/bundle_start.py, which the cell calls, lies there too, and
tools/bundle_readme.md is the README.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

import nbformat

from needs import OPTIONAL, imports
from problems import explain_os_error, explain_output
from run_notebooks import KERNEL, shown
from steps import pip_environment

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
FOLDER = "d2l-attention"  # the one folder in the zip
WHEEL_FROM = ["d2l_ext", "pyproject.toml", "README.md", "LICENSE"]
D2L_VERSION = "0.17.6"
D2L_FILES = ["d2l/__init__.py", "d2l/paddle.py"]
D2L_LICENCES = ["LICENSE-SAMPLECODE", "LICENSE-SUMMARY"]  # MIT-0, and what it covers

D2L_FROM = f"""\
d2l/__init__.py and d2l/paddle.py are unchanged files of the package d2l {D2L_VERSION}
(https://pypi.org/project/d2l/{D2L_VERSION}/, source https://github.com/d2l-ai/d2l-en),
by the authors of Dive into Deep Learning. Its code is under MIT-0: see
LICENSE-SAMPLECODE and LICENSE-SUMMARY beside this file.
"""
# The cell is written in Chinese; this makes the English edition's of it.
IN_ENGLISH = {
    "运行一次：找到随这些notebook一起发的d2l和d2l_ext，并说出这里的环境": (
        "Run once: finds the d2l and d2l_ext that came along, and looks around"
    ),
    "已有的包一个也不动，平台自带的飞桨也不动；最后一行是结果": (
        "Changes no package, nor the platform's Paddle; the last line sums up"
    ),
    "没有找到packages文件夹，也没有找到aistudio.zip：请把": (
        "No packages folder, no aistudio.zip here: put "
    ),
    "其中一个与这个notebook放在同一个文件夹里，再运行一次": (
        "one of them beside this notebook and run again"
    ),
    "也找": "also ",
    "不完整：请等它上传完，或重新上传，": " is incomplete: let it arrive, or upload ",
    "'再运行一次') from": "'it anew; then run again') from",
    "start('zh'": "start('en'",
}


class Failure(Exception):
    """Why there is no bundle; the text says what to do."""


def bootstrap(language, also):
    """The source of the first cell."""
    code = (TOOLS / "bundle_cell.py").read_text(encoding="utf-8").rstrip("\n")
    for chinese, english in IN_ENGLISH.items() if language == "en" else ():
        code = code.replace(chinese, english)
    return code[:-1] + f", also={also})" if also else code


def with_bootstrap(path, language):
    """The text of a notebook with the cell on top; all else is as it is stored."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    imported = {module for source in code for module in imports(source)}
    also = sorted(set(OPTIONAL) & imported)
    cell = nbformat.v4.new_code_cell(bootstrap(language, also), id="bootstrap")
    notebook.cells.insert(0, cell)
    notebook.metadata.kernelspec = KERNEL  # which every platform has
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def wheel(folder):
    """The wheel of d2l_ext, made from a copy: no old build/ can get into it."""
    copy = Path(folder, "source")
    copy.mkdir()
    for name in WHEEL_FROM:
        if (ROOT / name).is_dir():
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, ignore=leave)
        else:
            shutil.copy(ROOT / name, copy)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index"]
    pip += ["--no-build-isolation", "--wheel-dir", folder, str(copy)]
    done = subprocess.run(
        pip,
        env=pip_environment(sys.executable),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        output = done.stdout.decode("utf-8", "replace")
        why = explain_output(output, done.returncode, folder)
        raise Failure(f"The wheel of d2l_ext was not made. {why}")
    (path,) = Path(folder).glob("d2l_ext-*.whl")
    with zipfile.ZipFile(path) as file:
        entries = [(name, file.read(name)) for name in file.namelist()]
    pack(path, entries)
    return path


def pack(path, entries):
    """Make a zip of (name, bytes): the same every time, whoever makes it.

    Rights would differ with the umask, and times anyway: all are those of 1980.
    """
    with zipfile.ZipFile(path, "w") as file:
        for name, data in entries:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, data)


def d2l_files():
    """(name in packages/, path) of what is taken from the installed d2l."""
    try:
        package = metadata.distribution("d2l")
    except metadata.PackageNotFoundError:
        raise Failure("d2l is not installed here: run make setup first.") from None
    if package.version != D2L_VERSION:
        raise Failure(f"d2l {package.version} is installed, {D2L_VERSION} is wanted.")
    # Newer installers put licences into a folder of their own.
    files = {file.name: file for file in package.files if "dist-info" in file.parts[0]}
    for name in D2L_FILES:
        yield name, package.locate_file(name)
    for name in D2L_LICENCES:
        if name not in files:
            raise Failure(f"The installed d2l has no {name}: install it again.")
        yield f"d2l/{name}", package.locate_file(files[name])


def contents(folder):
    """Yield (name in the zip, bytes) of all that belongs there."""
    yield "README.md", (TOOLS / "bundle_readme.md").read_bytes()
    yield "LICENSE", (ROOT / "LICENSE").read_bytes()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        yield path.name, with_bootstrap(path, "zh").encode("utf-8")
    for path in sorted((ROOT / "notebooks" / "en").glob("*.ipynb")):
        yield f"en/{path.name}", with_bootstrap(path, "en").encode("utf-8")
    made = wheel(folder)
    yield f"packages/{made.name}", made.read_bytes()
    for name in "bundle_start.py", "bundle_paddle_2_5.py":
        yield f"packages/{name}", (TOOLS / name).read_bytes()
    yield "packages/d2l/FROM.txt", D2L_FROM.encode("utf-8")
    for name, path in d2l_files():
        yield f"packages/{name}", Path(path).read_bytes()


def write_zip(target):
    """Write it whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(target.name + ".new")
    try:
        with tempfile.TemporaryDirectory() as folder:
            pack(new, ((f"{FOLDER}/{name}", data) for name, data in contents(folder)))
        os.replace(new, target)
    finally:
        if new.exists():
            new.unlink()


def main():
    target = ROOT / "build" / "aistudio.zip"
    try:
        write_zip(target)
    except Failure as failure:
        print(f"aistudio: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print("aistudio: " + explain_os_error(error, ROOT), file=sys.stderr)
        return 1
    print(f"{shown(target)}: {target.stat().st_size / 2**20:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
