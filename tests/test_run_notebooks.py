"""`make run` and `make notebooks`, on small notebooks and with real kernels."""

import base64
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import html_page
import needs
import run_notebooks
import run_records

ROOT = Path(__file__).resolve().parent.parent
GOOD = ["a = 6", "print(a)\nprint(a * 7)"]
BAD = ["a = 6", "a / 0", "print('never')"]
FIGURE = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2, 4])\nplt.show()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty project for the functions, which find all their files below ROOT."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(run_notebooks, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(folder, name, cells, text="# 标题\n\n公式 $x_1$", **metadata):
    cells = [cell if isinstance(cell, dict) else new_code_cell(cell) for cell in cells]
    notebook = new_notebook(cells=[new_markdown_cell(text), *cells], metadata=metadata)
    path = folder / "notebooks" / name
    nbformat.write(notebook, path)
    return path


def outputs(path):
    """The outputs of the code cells, as texts."""
    cells = nbformat.read(path, as_version=4).cells
    texts = []
    for cell in cells[1:]:
        for output in cell.outputs:
            texts.append(output.get("text") or output.get("ename") or "data")
    return texts


# make run


def test_run_leaves_copy_and_page_and_says_where(folder, capsys):
    path = save(folder, "good.ipynb", GOOD)
    before = path.read_bytes()
    assert run_notebooks.main(["run"]) == 0
    assert "build/good.ipynb, build/good.html" in capsys.readouterr().out
    assert outputs(folder / "build" / "good.ipynb") == ["6\n42\n"]
    assert path.read_bytes() == before
    assert sorted(file.name for file in folder.rglob("*.*")) == [
        "good.html",
        "good.ipynb",
        "good.ipynb",
        "runs.json",
    ]


def test_how_long_with_what_and_when_is_beside_it_and_not_in_it(folder):
    good = save(folder, "good.ipynb", GOOD)
    bad = save(folder, "bad.ipynb", BAD)
    (folder / "notebooks" / "en").mkdir()
    english = save(folder, "en/good.ipynb", GOOD)
    assert run_notebooks.main(["in-place", str(good), str(english)]) == 0
    assert run_notebooks.main(["run", str(bad)]) == 1
    records = run_records.read(folder / "build" / "runs.json")
    passed = {name: record["passed"] for name, record in records.items()}
    assert passed == {"bad": False, "good": True, "en/good": True}
    record = records["good"]
    assert 0 < record["seconds"] < 60
    assert record["date"] == datetime.date.today().isoformat()
    assert record["versions"]["Python"] == platform.python_version()
    assert {"Paddle", "NumPy", "matplotlib"} < set(record["versions"])
    notebook = nbformat.read(good, as_version=4)
    assert record["code"] == run_records.digest(notebook)
    notebook.cells[1].source += "  # changed"
    assert record["code"] != run_records.digest(notebook)


def test_run_names_the_failing_cell_and_goes_on(folder, capsys):
    bad = save(folder, "bad.ipynb", BAD)
    save(folder, "good.ipynb", GOOD)
    before = bad.read_bytes()
    assert run_notebooks.main(["run"]) == 1
    output = capsys.readouterr()
    place = "notebooks/bad.ipynb, cell 3 (In [2]): ZeroDivisionError: division by zero"
    assert place in output.err and "a / 0" in output.err and "\x1b" not in output.err
    assert "1 of 2 notebooks failed" in output.err
    assert bad.read_bytes() == before
    assert outputs(folder / "build" / "good.ipynb") == ["6\n42\n"]
    assert outputs(folder / "build" / "bad.ipynb") == ["ZeroDivisionError"]
    assert "ZeroDivisionError" in (folder / "build" / "bad.html").read_text("utf-8")


def test_run_names_the_cell_that_killed_the_kernel(folder, capsys):
    save(folder, "dead.ipynb", ["a = 1", "import os; os._exit(1)"])
    assert run_notebooks.main(["run"]) == 1
    assert "dead.ipynb, cell 3 (In [2]): the kernel died" in capsys.readouterr().err


def test_run_takes_whatever_kernel_the_author_had(folder):
    spec = {
        "name": "py35-paddle1.2.0",
        "display_name": "AI Studio",
        "language": "python",
    }
    save(folder, "foreign.ipynb", GOOD, kernelspec=spec)
    assert run_notebooks.main(["run"]) == 0
    assert outputs(folder / "build" / "foreign.ipynb") == ["6\n42\n"]


def test_run_starts_from_nothing_in_the_folder_of_the_notebook(folder):
    code = "import os; print(os.path.basename(os.getcwd()), 'a' in globals())"
    save(folder, "a.ipynb", ["a = 1"])
    save(folder, "b.ipynb", [code])
    assert run_notebooks.main(["run"]) == 0
    assert outputs(folder / "build" / "b.ipynb") == ["notebooks False\n"]


def test_run_only_those_named(folder, capsys):
    save(folder, "a.ipynb", GOOD)
    b = save(folder, "b.ipynb", GOOD)
    assert run_notebooks.main(["run", str(b)]) == 0
    assert not (folder / "build" / "a.ipynb").exists()
    assert run_notebooks.main(["run", "notebooks/c.ipynb"]) == 2
    assert "There is no notebook notebooks/c.ipynb." in capsys.readouterr().err


@pytest.fixture
def two_languages(folder):
    """notebooks/a.ipynb, and notebooks/en/ with a.ipynb and b.ipynb."""
    (folder / "notebooks" / "en").mkdir()
    save(folder, "a.ipynb", ["print('zh')", FIGURE])
    save(folder, "en/a.ipynb", ["print('en')", FIGURE], text="# Title")
    save(folder, "en/b.ipynb", GOOD, text="# Title")
    return folder


def test_run_reads_one_language(two_languages):
    assert run_notebooks.main(["run"]) == 0
    assert outputs(two_languages / "build" / "a.ipynb") == ["zh\n", "data"]
    assert not (two_languages / "build" / "en").exists()


def test_run_a_folder(two_languages, capsys):
    assert run_notebooks.main(["run", "notebooks/en"]) == 0
    assert "build/en/a.ipynb, build/en/a.html\n" in capsys.readouterr().out
    build = two_languages / "build"
    assert outputs(build / "en" / "a.ipynb") == ["en\n", "data"]
    assert outputs(build / "en" / "b.ipynb") == ["6\n42\n"]
    assert sorted(file.name for file in build.iterdir()) == ["en", "runs.json"]
    page = (build / "en" / "a.html").read_text(encoding="utf-8")
    assert '<html lang="en">' in page and 'alt="figure"' in page
    assert not re.search("[\u4e00-\u9fff]", page.replace(html_page.mathjax(), ""))


def test_run_of_a_folder_without_notebooks(folder, capsys):
    (folder / "empty").mkdir()
    assert run_notebooks.main(["run", "empty"]) == 2
    assert "There is no notebook empty." in capsys.readouterr().err


def test_in_place_stores_both_languages(two_languages):
    assert run_notebooks.main(["in-place"]) == 0
    for name, shown in ("a", "zh\n"), ("en/a", "en\n"), ("en/b", "6\n42\n"):
        path = two_languages / "notebooks" / f"{name}.ipynb"
        assert outputs(path)[0] == shown


@pytest.mark.parametrize("text", ["{", '{"cells": 1}', "\N{GRINNING FACE}"])
def test_run_names_a_file_that_is_no_notebook(folder, capsys, text):
    (folder / "notebooks" / "a.ipynb").write_text(text, encoding="utf-8")
    save(folder, "b.ipynb", GOOD)
    assert run_notebooks.main(["run"]) == 1
    assert "notebooks/a.ipynb is not a notebook: " in capsys.readouterr().err
    assert outputs(folder / "build" / "b.ipynb") == ["6\n42\n"]


def test_a_full_disk_is_a_sentence(folder, capsys, monkeypatch):
    path = save(folder, "good.ipynb", GOOD)
    before = path.read_bytes()

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    for what in "run", "in-place":
        assert run_notebooks.main([what]) == 1
        assert "The disk is full. Free some room" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("moment", ["a kernel starts", "a cell runs"])
def test_interrupt_is_a_sentence_and_leaves_no_kernel(tmp_path, moment):
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    (tmp_path / "notebooks").mkdir()
    path = save(tmp_path, "slow.ipynb", [code])
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    # A terminal sends Ctrl-C to make and to its child alike, not to the kernels.
    process = subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "tools" / "run_notebooks.py"),
            "in-place",
            str(path),
        ],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    before = path.read_bytes()
    deadline = time.monotonic() + 60
    while not kernels(str(temporary)) or (
        moment == "a cell runs" and not (path.parent / "pid").exists()
    ):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=30)[1].decode("utf-8")
    assert process.returncode == 130
    assert "Interrupted." in errors and "Traceback" not in errors
    assert path.read_bytes() == before
    assert not kernels(str(temporary))


def kernels(folder):
    """The processes whose connection file is in this folder."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(folder in word for word in process.info["cmdline"] or [])
    ]


# A package that few have


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setattr(needs, "OPTIONAL", {"no_such_package": "NoSuch"})


IMPORT = "try:\n    import no_such_package\nexcept ImportError:\n    pass"


def test_run_leaves_out_what_needs_a_package_that_few_have(folder, capsys, without):
    save(folder, "a.ipynb", [IMPORT])
    save(folder, "b.ipynb", GOOD)
    assert run_notebooks.main(["run"]) == 0
    output = capsys.readouterr()
    line = "notebooks/a.ipynb needs NoSuch, not installed (make torch): left out\n"
    assert output.out.startswith(line) and output.err == ""
    assert outputs(folder / "build" / "b.ipynb") == ["6\n42\n"]
    assert not (folder / "build" / "a.ipynb").exists()


def test_run_leaves_it_out_of_a_folder_too(folder, capsys, without):
    save(folder, "a.ipynb", [IMPORT])
    assert run_notebooks.main(["run", "notebooks"]) == 0
    assert "not installed (make torch): left out\n" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["run", "in-place"])
def test_run_says_so_of_one_that_was_named(folder, capsys, without, what):
    path = save(folder, "a.ipynb", [IMPORT])
    before = path.read_bytes()
    assert run_notebooks.main([what, str(path)]) == 1
    output = capsys.readouterr()
    line = "notebooks/a.ipynb needs NoSuch, not installed (make torch)\n"
    assert output.err.startswith(line) and output.out == ""
    assert "1 of 1 notebooks failed" in output.err
    assert path.read_bytes() == before and not (folder / "build").exists()


@pytest.mark.parametrize(
    "code, needed",
    [
        ("import no_such_package", True),
        ("import no_such_package as n", True),
        ("a = 1\nfrom no_such_package.nn import Linear", True),
        ("try:\n  from no_such_package import nn\nexcept ImportError:\n  nn = 0", True),
        ("import json, no_such_package as n", True),
        ("n = 3; import no_such_package.nn", True),
        ("%matplotlib inline\n!ls\nimport no_such_package", True),
        ("code = '''\nimport no_such_package\n'''", False),
        ("%%bash\nimport no_such_package", False),
        ("%pip install no_such_package", False),
        ("from .no_such_package import nn", False),
        ("import no_such_package as", False),
        ("import no_such_packages", False),
        ("# import no_such_package", False),
        ("important = 'no_such_package'", False),
        ("import json", False),
    ],
)
def test_a_notebook_needs_what_its_code_imports(without, code, needed):
    text = new_markdown_cell("import no_such_package")
    notebook = new_notebook(cells=[text, new_code_cell("a"), new_code_cell(code)])
    assert needs.missing(notebook) == ["NoSuch"] * needed


def test_a_package_that_is_there_is_not_missing(monkeypatch):
    monkeypatch.setattr(needs, "OPTIONAL", {"json": "JSON"})
    assert needs.missing(new_notebook(cells=[new_code_cell("import json")])) == []


# The page


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_page_is_complete_in_itself(folder):
    text = r"# 10.6 *自注意力*" "\n\n" r"$$\mathbf{y} = \sin(x) \tag{10.6.1}$$"
    save(folder, "a.ipynb", [FIGURE], text=text)
    assert run_notebooks.main(["run"]) == 0
    page = (folder / "build" / "a.html").read_text(encoding="utf-8")
    assert "<title>10.6 自注意力</title>" in page and '<html lang="zh">' in page
    assert r"$$\mathbf{y} = \sin(x) \tag{10.6.1}$$" in page
    tags = Tags()
    tags.feed(page)
    fetched = [
        attributes.get("src") or attributes.get("href")
        for tag, attributes in tags.found
        if tag in ("script", "link", "img", "iframe")
        and ("src" in attributes or "href" in attributes)
    ]
    assert len(fetched) == 1 and fetched[0].startswith("data:image/png;base64,")
    assert not re.search(r"import\(\s*[\"']https?:|@import|url\([\"']?https?:", page)
    # What draws the formulas: MathJax's start-up code, whole.
    assert "MathJax" in page and page.count("</script>") == page.count("<script")
    assert len(page) > 2_000_000


# make notebooks


def in_place(path):
    status = run_notebooks.main(["in-place", str(path)])
    return status, path.read_bytes()


def test_in_place_twice_gives_the_same_bytes(folder):
    noise = "import sys, time\nfor i in range(20):\n    print(i, flush=True)\n"
    noise += "    time.sleep(0.02)\nprint(1, file=sys.stderr)"
    path = save(
        folder, "a.ipynb", [*GOOD, noise, FIGURE, "a"], authors=[{"name": "me"}]
    )
    status, first = in_place(path)
    assert status == 0
    assert in_place(path) == (0, first)
    notebook = json.loads(first)
    assert notebook["metadata"] == {
        "authors": [{"name": "me"}],
        "kernelspec": {
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    cells = notebook["cells"][1:]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4, 5]
    assert [cell["metadata"] for cell in cells] == [{}] * 5
    assert [output["name"] for output in cells[2]["outputs"]] == ["stdout", "stderr"]
    assert "image/png" in cells[3]["outputs"][-1]["data"]
    assert first.endswith(b"}\n") and b"\\u" not in first


def test_what_is_stored_is_computed_in_one_thread(folder, monkeypatch):
    cell = "import os\nprint(os.environ.get('OMP_NUM_THREADS'))"
    path = save(folder, "a.ipynb", [cell])
    for what, result, threads in (
        ("run", folder / "build" / "a.ipynb", "2\n"),  # a reader's own choice
        ("in-place", path, "None\n"),
    ):
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert run_notebooks.main([what, str(path)]) == 0
        assert outputs(result) == [threads]


def test_in_place_removes_what_an_editor_left(folder):
    old = new_code_cell("1 + 1", execution_count=17)
    old.metadata = {"execution": {"a": "x"}, "ExecuteTime": {}, "tags": ["mine"]}
    old.outputs = [nbformat.v4.new_output("stream", text="stale")]
    path = save(
        folder, "a.ipynb", [old], language_info={"name": "python", "version": "3.5.1"}
    )
    name = json.loads(path.read_text("utf-8"))["cells"][1]["id"]
    assert in_place(path)[0] == 0
    cell = json.loads(path.read_text("utf-8"))["cells"][1]
    assert cell["id"] == name and cell["metadata"] == {"tags": ["mine"]}
    assert cell["execution_count"] == 1
    assert [output["data"] for output in cell["outputs"]] == [{"text/plain": ["2"]}]
    assert b"3.5.1" not in path.read_bytes()


def test_in_place_leaves_the_picture_of_a_widget(folder):
    """Its view and its state would be new on every run, and nothing could show them."""
    pytest.importorskip("ipywidgets")
    both = "import ipywidgets\nclass Both:\n    def _repr_mimebundle_(self, **_):\n"
    both += "        view = ipywidgets.IntSlider()._repr_mimebundle_()\n"
    both += "        return {**view, 'text/plain': 'a slider', 'image/png': 'AAAA'}\n"
    path = save(folder, "a.ipynb", [both + "Both()", "display(Both())"])
    status, first = in_place(path)
    assert status == 0 and in_place(path) == (0, first)
    notebook = nbformat.read(path, as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    for cell in notebook.cells[1:]:
        (output,) = cell.outputs
        assert output.data == {"image/png": "AAAA", "text/plain": "a slider"}
    assert run_notebooks.main(["run"]) == 0
    page = (folder / "build" / "a.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,AAAA") == 2


def test_in_place_leaves_a_failing_notebook_alone(folder, capsys):
    path = save(folder, "bad.ipynb", BAD)
    before = path.read_bytes()
    assert in_place(path) == (1, before)
    assert "bad.ipynb, cell 3 (In [2]): ZeroDivisionError" in capsys.readouterr().err
    assert [file.name for file in path.parent.iterdir()] == ["bad.ipynb"]
    assert [file.name for file in (folder / "build").iterdir()] == ["runs.json"]


def test_in_place_tells_of_stderr(folder, capsys):
    path = save(folder, "a.ipynb", ["1", "import sys\nprint('oh', file=sys.stderr)"])
    assert in_place(path)[0] == 0
    errors = capsys.readouterr().err
    assert "a.ipynb, cell 3: wrote to stderr" in errors and ": oh" in errors
    assert "cell 2" not in errors


def test_in_place_saves_the_tagged_figure(folder, capsys):
    cell = new_code_cell(FIGURE, metadata={"tags": ["readme-picture"]})
    path = save(folder, "a.ipynb", ["1", cell])
    picture = folder / "docs" / "figure.png"
    assert in_place(path)[0] == 0
    notebook = nbformat.read(path, as_version=4)
    png = base64.b64decode(notebook.cells[2].outputs[-1].data["image/png"])
    assert picture.read_bytes() == png and png.startswith(b"\x89PNG")
    cell.source = "1 + 1"
    path = save(folder, "b.ipynb", [cell])
    assert in_place(path)[0] == 1
    assert "tagged readme-picture has no picture" in capsys.readouterr().err
    assert picture.read_bytes() == png


def test_without_a_tagged_figure_there_is_no_picture(folder):
    assert in_place(save(folder, "a.ipynb", [FIGURE]))[0] == 0
    assert not (folder / "docs").exists()


# What make sets for the kernels


def in_recipes(folder, *options, **user):
    """The environment that a recipe of the Makefile has."""
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    (folder / "show.mk").write_text(f"show:\n\t@{sys.executable} -Ic '{code}'\n")
    # Of the make that may be running this.
    ours = ("MAKE", "MKL_DEBUG_CPU_TYPE", "PIP_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    done = subprocess.run(
        ["make", "-sf", "Makefile", "-f", folder / "show.mk", "show", *options],
        cwd=ROOT,
        env={**env, **user},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


# Python's own, all that `python --help-env` of 3.13 lists, and what those say who test it.
PYTHONS = """
    ASYNCIODEBUG BREAKPOINT CASEOK DEBUG DEVMODE DUMPREFS EXECUTABLE FAULTHANDLER HASHSEED
    HISTORY HOME INSPECT INTMAXSTRDIGITS MALLOC MALLOCSTATS NODEBUGRANGES NOUSERSITE
    OPTIMIZE PATH PERFSUPPORT PLATLIBDIR PROFILEIMPORTTIME SAFEPATH STARTUP TRACEMALLOC
    UNBUFFERED USERBASE UTF8 VERBOSE WARNDEFAULTENCODING WARNINGS
""".split()
# How a terminal is written to, and where files go: that is the user's to say.
KEPT = {"PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}


def test_what_is_set_up_for_other_programs_does_not_reach_ours(tmp_path):
    wanted = dict.fromkeys([*KEPT, *(f"PYTHON{name}" for name in PYTHONS)], "1")
    found = in_recipes(tmp_path, **wanted, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert {name for name in found if name.startswith(("PYTHON", "PYTEST_D"))} == KEPT


@pytest.mark.parametrize(
    "given, known, home",
    [
        ("", "exit 2", ROOT / ".venv" / "var"),
        ("/no-such", "exit 2", ROOT / ".venv" / "var"),
        ("/no-such", "echo a:x:7:7:A:/no-such:/bin/sh", ROOT / ".venv" / "var"),
        ("/no-such", "echo a:x:7:7:A:/tmp:/bin/sh", "/tmp"),
        ("", "echo a:x:7:7:A:/tmp:/bin/sh", "/tmp"),
        ("{}/mine, #1", "echo a:x:7:7:A:/tmp:/bin/sh", "{}/mine, #1"),
    ],
)
def test_who_has_no_home_to_write_to_gets_one(tmp_path, given, known, home):
    getent = tmp_path / "bin" / "getent"
    getent.parent.mkdir()
    getent.write_text(f"#!/bin/sh\n{known}\n")
    getent.chmod(0o755)
    (tmp_path / "mine, #1").mkdir()
    path, home = f"{getent.parent}:{os.environ['PATH']}", str(home).format(tmp_path)
    found = in_recipes(tmp_path, HOME=given.format(tmp_path), PATH=path)
    assert found["HOME"] == home
    # pip would fill .venv with what it has fetched; without a home it keeps nothing.
    assert ("PIP_NO_CACHE_DIR" in found) is home.startswith(f"{ROOT}/")


def test_no_recipe_holds_the_path_of_the_clone():
    """A shell would read what it takes for its own in there, such as $ and `."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "PYTHON"))}
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    done = subprocess.run(
        ["make", "-n", *targets],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "jupyter lab" in done.stdout and str(ROOT) not in done.stdout


def mkl_type(folder, cpuinfo, **user):
    """What a recipe of the Makefile finds in MKL_DEBUG_CPU_TYPE, or None."""
    (folder / "cpuinfo").write_text(cpuinfo)
    found = in_recipes(folder, f"CPUINFO={folder / 'cpuinfo'}", **user)
    return found.get("MKL_DEBUG_CPU_TYPE")


CPU = "vendor_id\t: {}\nflags\t\t: fpu sse4_2 {} bmi2\n"


@pytest.mark.parametrize(
    "cpuinfo, told",
    [
        (CPU.format("AuthenticAMD", "avx avx2") * 2, "5"),
        (
            CPU.format("AuthenticAMD", "avx"),
            None,
        ),  # AVX2 would be an illegal instruction
        (CPU.format("GenuineIntel", "avx avx2"), None),
        (CPU.format("HygonGenuine", "avx avx2"), None),
        ("", None),
    ],
)
def test_only_amd_is_told_how_to_multiply_matrices(tmp_path, cpuinfo, told):
    assert mkl_type(tmp_path, cpuinfo) == told
    for users in "4", "":
        assert mkl_type(tmp_path, cpuinfo, MKL_DEBUG_CPU_TYPE=users) == users
