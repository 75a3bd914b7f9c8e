"""The web book, from the notebooks as they are stored: `make site`.

Sphinx with MyST-NB and sphinx-book-theme makes plain files that open from a folder,
offline. Nothing is executed. The Chinese book is at the top; the English one, as soon
as there are notebooks for it, is in en/.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

import install_site
import run_records
import setup_env
from problems import Problem, explain_os_error

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "docs" / "site"
RUNS = ROOT / "build" / "runs.json"
FOLDERS = {"zh": "notebooks", "en": "notebooks/en"}
REPOSITORY = r"[\w.-]+/[\w.-]+(?:@[\w./-]+)?"
CELL = 10_000  # MyST-NB's line 30007 is line 6 of the third cell
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

# What the themes and Sphinx have no Chinese for, or that of Taiwan.
CHINESE = {
    "Back to top": "回到顶部",
    "Color mode": "浅色或深色",
    "light/dark": "浅色或深色",
    "Link to this heading": "这一节的链接",
    "Main": "目录",
    "next page": "下一页",
    "Page": "本页内容",
    "previous page": "上一页",
    "Skip to main content": "跳到正文",
    "System Settings": "跟随系统",
    "Toggle primary sidebar": "目录",
    "Toggle secondary sidebar": "本页内容",
    "Version warning": "版本提示",
    "列印成 PDF": "打印成PDF",
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
                read(path)
                shutil.copy(path, source)
            text = status_page(language, notebooks, run_records.read(runs))
            (source / "status.md").write_text(text, encoding="utf-8")
    return languages


def read(path):
    """The cells of a notebook, as they are in the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError) as error:
        name = path.relative_to(ROOT)
        raise Problem(f"{name} is not a notebook: {error!r}") from error


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
        "--no-color",  # also where CI or FORCE_COLOR asks for it: messages are read
        "-c",
        str(CONF),
        "-t",
        language,
        "-d",
        str(work / "doctrees" / language),
    ]
    for name, value in settings.items():
        command += ["-D", f"{name}={value}"]
    # Messages are read, so that their encoding has to be known. Nor does Sphinx start
    # where a locale is asked for that is not there, as ssh does for another machine.
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    command += [str(work / language), str(target)]
    done = subprocess.run(command, env=env, stderr=subprocess.PIPE, encoding="utf-8")
    for line in dict.fromkeys(done.stderr.splitlines()):
        print(located(line, language, work / language), file=sys.stderr)
    if done.returncode == 0:
        tidy(target)
    return done.returncode == 0


def located(line, language, source):
    """A message of Sphinx, with the notebook, the cell and the line of the cell."""
    # With older packages the ending comes twice, or there is no number.
    match = re.match(r"(.+?\.(?:ipynb|md))(?:\.ipynb)?:(\d*):? (?=WARNING|ERROR)", line)
    if not match or Path(match[1]).parent != source:
        return line
    name, rest = Path(match[1]).name, line[match.end() :]
    if not name.endswith(".ipynb"):
        return f"docs/site/{language}/{name}, line {match[2] or '?'}: {rest}"
    place = f"{FOLDERS[language]}/{name}"
    cell, line_of_cell = divmod(int(match[2] or 0), CELL)
    if cell:
        name = read(ROOT / place)[cell - 1].get("id", "without an id")
        place += f", cell {cell} ({name})"
    if line_of_cell > 1:
        place += f", line {line_of_cell - 1}"
    return f"{place}: {rest}"


def tidy(target):
    # What Sphinx needs to build again, debuggers want, and readers do not.
    for name in ".buildinfo", "objects.inv":
        (target / name).unlink(missing_ok=True)
    shutil.rmtree(target.parent / "jupyter_execute", ignore_errors=True)
    for path in (target / "_static").rglob("*.map"):
        path.unlink()
    for path in target.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        # The theme for Python 3.10 and older wants fonts before its style asks for
        # them, in a way that no browser allows for files.
        text = re.sub(r'<link rel="preload" as="font"[^>]*>', "", text)
        # The other language takes the place of this one, and says what it is.
        other = "zh-CN" if target.name == "en" else "en"
        text = re.sub(
            r'target="_blank"(\s+class="[^"]*language-button)',
            rf'hreflang="{other}" lang="{other}"\1',
            text,
        )
        if target.name != "en":
            text = in_chinese(text)
        path.write_text(text, "utf-8")


def in_chinese(text):
    """Labels and tooltips of the theme, and texts that are all of an element."""

    def translated(match):
        return match[1] + CHINESE.get(match[2].strip(), match[2]) + match[3]

    text = re.sub(r'(\s(?:title|aria-label)=")([^"]*)(")', translated, text)
    return re.sub(r"(>)(\s*(?:Skip|Back|System) [\w ]+)(<)", translated, text)


def make(target, settings, runs=RUNS):
    """Build all into a folder of its own, which replaces the old one if all is well."""
    work = target.with_name(target.name + "-work")
    shutil.rmtree(work, ignore_errors=True)
    try:
        new = work / "html"
        for language in lay_out(work, runs):
            place = new if language == "zh" else new / language
            if not build(language, work, place, settings):
                return False
        if target.exists():
            target.rename(work / "old")
        new.rename(target)
        return True
    finally:
        shutil.rmtree(work, ignore_errors=True)


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
        with setup_env.one_at_a_time(ROOT / "pyproject.toml"):
            made = make(target, settings)
        if not made:
            print("site: see the warnings above; each is an error.", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        print("\nInterrupted. The web book is as it was before.", file=sys.stderr)
        return 130
    except Problem as problem:
        print(f"site: {problem}", file=sys.stderr)
        return 1
    except OSError as error:
        print("site: " + explain_os_error(error, ROOT), file=sys.stderr)
        return 1
    print(f"Open {os.path.relpath(target / 'index.html')} in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
