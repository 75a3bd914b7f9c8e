"""The web book, from the notebooks as they are stored: `make site`.

Sphinx with MyST-NB and sphinx-book-theme makes plain files that open from a folder,
offline. Nothing is executed. The Chinese book is at the top; the English one, as soon
as there are notebooks for it, is in en/.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

import install_site
import run_records
from problems import explain_os_error

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "docs" / "site"
RUNS = ROOT / "build" / "runs.json"
FOLDERS = {"zh": "notebooks", "en": "notebooks/en"}
REPOSITORY = r"[\w.-]+/[\w.-]+(?:@[\w./-]+)?"
AISTUDIO = r"https://aistudio\.baidu\.com/[^\s\"']+"

STATUS = {
    "zh": {
        "title": "运行情况",
        "text": "在制作这些页面的机器上，每个笔记本最近一次从头到尾执行的情况。"
        "已保存的输出与机器无关，由`make test`逐一比较。",
        "head": ["笔记本", "用时（秒）", "日期", "版本", "结果"],
        "never": "还没有在这里执行过",
        "passed": "通过",
        "failed": "出错",
        "changed": "此后代码有改动",
    },
    "en": {
        "title": "Runs",
        "text": "The last run of each notebook from top to bottom, on the machine that "
        "made these pages. The stored outputs are the same on every machine; "
        "`make test` compares them.",
        "head": ["notebook", "seconds", "date", "versions", "result"],
        "never": "not executed here yet",
        "passed": "passed",
        "failed": "failed",
        "changed": "the code has changed since",
    },
}


def lay_out(work, runs=RUNS):
    """Gather what each language is built from, and return the languages."""
    languages = []
    for language, folder in FOLDERS.items():
        notebooks = sorted((ROOT / folder).glob("*.ipynb"))
        if notebooks:
            languages.append(language)
            source = work / language
            shutil.copytree(CONF / language, source)
            for path in notebooks:
                shutil.copy(path, source)
            text = status_page(language, notebooks, run_records.read(runs))
            (source / "status.md").write_text(text, encoding="utf-8")
    return languages


def status_page(language, notebooks, records):
    words = STATUS[language]
    rows = [words["head"], [":--", "--:", ":--", ":--", ":--"]]
    for path in notebooks:
        link = f"[]({path.name})"  # Sphinx puts the title there
        record = records.get(run_records.name_of(path))
        rows.append([link, *status(words, path, record)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    table = f"```{{table}}\n:class: status\n\n{table}\n```"
    return f"# {words['title']}\n\n{words['text']}\n\n{table}\n"


def status(words, path, record):
    if not record:
        return ["–", "–", "–", words["never"]]
    result = words["passed" if record["passed"] else "failed"]
    notebook = nbformat.read(path, as_version=4)
    if record["code"] != run_records.digest(notebook):
        result += ("，" if words is STATUS["zh"] else ", ") + words["changed"]
    versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    return [f"{record['seconds']:.0f}", record["date"], versions, result]


def build(language, work, target, settings):
    """Run Sphinx on one language; True if it had nothing to complain about."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    command += [
        "-c",
        str(CONF),
        "-t",
        language,
        "-d",
        str(work / "doctrees" / language),
    ]
    for name, value in settings.items():
        command += ["-D", f"{name}={value}"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*command, str(work / language), str(target)], env=env)
    tidy(target)
    return done.returncode == 0


def tidy(target):
    # What Sphinx needs to build again, and readers do not.
    for name in ".buildinfo", "objects.inv":
        (target / name).unlink(missing_ok=True)
    # The theme for Python 3.10 and older wants fonts before its style asks for them,
    # in a way that no browser allows for files.
    for path in target.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            re.sub(r'<link rel="preload" as="font"[^>]*>', "", text), "utf-8"
        )


def make(target, settings, runs=RUNS):
    """Build all into a folder of its own, which replaces the old one if all is well."""
    work = target.with_name(target.name + "-work")
    shutil.rmtree(work, ignore_errors=True)
    new = work / "html"
    for language in lay_out(work, runs):
        place = new if language == "zh" else new / language
        if not build(language, work, place, settings):
            return False
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)
    shutil.rmtree(work)
    return True


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repository", default="", help="owner/name or owner/name@branch"
    )
    parser.add_argument("--aistudio", default="", help="address of a project there")
    options = parser.parse_args(arguments)
    for name, pattern in ("repository", REPOSITORY), ("aistudio", AISTUDIO):
        value = getattr(options, name)
        if value and not re.fullmatch(pattern, value):
            form = "owner/name on GitHub" if name == "repository" else pattern
            parser.error(f"SITE_{name.upper()}={value}: expected {form}")
    return {f"site_{k}": v for k, v in vars(options).items()}


def main(arguments=None):
    settings = parse(arguments)
    status = install_site.main()
    if status:
        return status
    target = ROOT / "build" / "site"
    try:
        if not make(target, settings):
            print("site: see the warnings above; each is an error.", file=sys.stderr)
            return 1
    except OSError as error:
        print("site: " + explain_os_error(error, ROOT), file=sys.stderr)
        return 1
    print(f"Open {os.path.relpath(target / 'index.html')} in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
