"""The gate has to let good notebooks pass and each kind of bad one fail.

A bad notebook is a good one, really executed, with one small edit. All of them are run
by one pytest, as `make test` runs the real ones; then each is looked at.
"""

import copy
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import run_notebooks
from tests.gate import items, rules

ROOT = Path(__file__).parent.parent
KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
}

TEXT = [
    new_markdown_cell("# 标题\n\n文字"),
    new_code_cell("number = 0.25\nword = '权重'"),
    new_code_cell("# 最后一行是值\nnumber"),
    new_code_cell("print(word, '和', number)"),
    new_code_cell(
        "import sys\nfrom IPython.display import HTML, Latex, display\n"
        "print('before')\ndisplay(HTML('<b>bold</b>'), Latex('$x$'))\n"
        "print('after')"
    ),
    new_code_cell(
        "for i in range(300):\n    print(i, end=' ')\n    sys.stdout.flush()"
    ),
    new_code_cell(
        "# 时间每次不同\n# NBVAL_IGNORE_OUTPUT\nimport time\nprint(time.time())"
    ),
    new_code_cell("word;"),
    new_code_cell("_"),
    new_code_cell("handle = display('one', display_id=True)\nhandle.update('two')"),
]
FIGURES = [
    new_code_cell(
        # With matplotlib 3.8, the magic makes the formats below hold from the start.
        "%matplotlib inline\nimport numpy as np\nimport matplotlib.pyplot as plt\n"
        "from matplotlib_inline.backend_inline import set_matplotlib_formats\n"
        "set_matplotlib_formats('retina')\nx = np.arange(60)"
    ),
    new_code_cell(
        "fig, ax = plt.subplots(figsize=(6, 2.5))\nphase = 0\n"
        "for j, color in zip(range(6, 10), 'bmgr'):\n"
        "    ax.plot(x, np.sin(x / j + phase * (j == 7)), color, label=f'Col {j}')\n"
        "ax.set_xlabel('Row (position)')\nax.legend()\nax.grid()"
    ),
    new_code_cell(
        "P = np.sin(x[:, None] / (1 + np.arange(32)))\nP[30, 10] += 0\n"
        "fig, ax = plt.subplots(figsize=(3.5, 4))\n"
        "image = ax.imshow(P, cmap='Blues')\nfig.colorbar(image);"
    ),
]
# What a cell shows with ipywidgets, without it: a view that is new on every run.
WIDGETS = [
    new_code_cell(
        "import base64, io, uuid\nfrom PIL import Image\nblue, level = (0, 0, 255), 0\n"
        "class Explorer:\n"
        "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        image = Image.new('RGB', (40, 30), blue)\n"
        "        image.save(file := io.BytesIO(), 'png')\n"
        "        return {\n"
        "            'text/plain': f'explore(level={level})',\n"
        "            'image/png': base64.b64encode(file.getvalue()).decode(),\n"
        "            'application/vnd.jupyter.widget-view+json': {\n"
        "                'model_id': uuid.uuid4().hex, 'version_major': 2},\n"
        "        }"
    ),
    new_code_cell("Explorer()"),
    new_code_cell("display(Explorer())"),
]


def source(number, old, new):
    """An edit of the code; the stored outputs stay."""

    def edit(notebook):
        cell = notebook.cells[number - 1]
        assert old in cell.source
        cell.source = cell.source.replace(old, new)

    return edit


def cell(number, **values):
    return lambda notebook: notebook.cells[number - 1].update(values)


def output(number, which, **values):
    return lambda notebook: notebook.cells[number - 1].outputs[which].update(values)


def picture(number, change):
    def edit(notebook):
        data = next(
            o.data
            for o in notebook.cells[number - 1].outputs
            if "image/png" in o.get("data", {})
        )
        data["image/png"] = change(data["image/png"].strip())

    return edit


def add_output(number, new):
    return lambda notebook: notebook.cells[number - 1].outputs.append(new)


def metadata(number, **values):
    return lambda notebook: notebook.cells[number - 1].metadata.update(values)


def swap_counts(notebook):
    a, b = notebook.cells[1], notebook.cells[2]
    a.execution_count, b.execution_count = 2, 1


def no_code(notebook):
    notebook.cells = notebook.cells[:1]


def pause(notebook):
    notebook.cells[2].source = "import time\ntime.sleep(60)"


# name: (what it is made of, edit, cell that must fail, words of the message)
BAD = {
    "number": (
        TEXT,
        source(2, "0.25", "0.5"),
        "cell 3 (In [2])",
        "text/plain differs in line 1: expected '0.25', found '0.5'",
    ),
    "word": (
        TEXT,
        source(2, "权重", "权值"),
        "cell 4 (In [3])",
        "stdout differs in line 1: expected '权重 和 0.25\\n', found '权值 和 0.25\\n'",
    ),
    "html": (TEXT, source(5, "bold", "bald"), "cell 5 (In [4])", "text/html differs"),
    "latex": (TEXT, source(5, "$x$", "$y$"), "cell 5 (In [4])", "text/latex differs"),
    "order": (
        TEXT,
        source(
            5, "HTML('<b>bold</b>'), Latex('$x$')", "Latex('$x$'), HTML('<b>bold</b>')"
        ),
        "cell 5 (In [4])",
        "other formats",
    ),
    "stream-order": (
        TEXT,
        source(
            5,
            "display(HTML('<b>bold</b>'), Latex('$x$'))\nprint('after')",
            "print('after')\ndisplay(HTML('<b>bold</b>'), Latex('$x$'))",
        ),
        "cell 5 (In [4])",
        "stdout differs in line 2: expected nothing, found 'after\\n'",
    ),
    "kind": (
        TEXT,
        source(3, "number", "display(number)"),
        "cell 3 (In [2])",
        "expected execute_result",
    ),
    "display": (
        TEXT,
        source(10, "two", "three"),
        "cell 10 (In [9])",
        "found \"'three'\"",
    ),
    "missing": (
        TEXT,
        source(3, "number", "number;"),
        "cell 3 (In [2])",
        "a missing output: expected 1, found 0",
    ),
    "extra": (
        TEXT,
        source(2, "0.25", "0.25\nprint('x')"),
        "cell 2 (In [1])",
        "an extra output: expected 0, found 1; the first is stdout 'x\\n'",
    ),
    "ignored-missing": (
        TEXT,
        source(7, "print(time.time())", "time.time();"),
        "cell 7 (In [6])",
        "expected 1, found 0",
    ),
    "ignored-stderr": (
        TEXT,
        source(7, "print(", "print('oh', file=sys.stderr); print("),
        "cell 7 (In [6])",
        "wrote to stderr: expected nothing, found 'oh\\n'",
    ),
    "ignored-error": (
        TEXT,
        source(7, "time.time()", "1 / 0"),
        "cell 7 (In [6])",
        "found ZeroDivisionError: division by zero",
    ),
    "warning": (
        TEXT,
        source(2, "word", "import warnings; warnings.warn('old'); word"),
        "cell 2 (In [1])",
        "wrote to stderr",
    ),
    "stderr-of-c": (
        TEXT,
        source(2, "word", "import os; os.write(2, b'from C'); word"),
        "(In [",
        "wrote to stderr: expected nothing, found 'from C'",
    ),
    "raises": (
        TEXT,
        source(2, "0.25", "1 / 0"),
        "cell 2 (In [1])",
        "raised an error: expected none, found ZeroDivisionError",
    ),
    "never-run": (
        TEXT,
        cell(3, execution_count=None, outputs=[]),
        "cell 3 (In [ ])",
        "was never run: expected In [2], found In [ ]",
    ),
    "disorder": (
        TEXT,
        swap_counts,
        "cell 3 (In [1])",
        "was run out of order: expected In [3], found In [1]",
    ),
    "stale-output": (
        TEXT,
        output(3, 0, execution_count=9),
        "cell 3 (In [2])",
        "expected Out [2], found Out [9]",
    ),
    "error-stored": (
        TEXT,
        add_output(2, new_output("error", ename="E", evalue="")),
        "cell 2 (In [1])",
        "an error is stored as output: E",
    ),
    "stderr-stored": (
        TEXT,
        add_output(2, new_output("stream", name="stderr", text="oh")),
        "cell 2 (In [1])",
        "a text on stderr is stored: 'oh'",
    ),
    "path": (
        TEXT,
        add_output(2, new_output("stream", name="stdout", text="/Users/me/x.py")),
        "cell 2 (In [1])",
        "names this machine: found '/Users/me/x.py'",
    ),
    "place": (
        TEXT,
        add_output(2, new_output("stream", name="stdout", text="Place(cpu)")),
        "cell 2 (In [1])",
        "names this machine: found 'Place(cpu)'",
    ),
    "marker": (
        TEXT,
        source(7, "# NBVAL_IGNORE_OUTPUT", "# NBVAL_IGNORE_OUTPT"),
        "cell 7 (In [6])",
        "'# NBVAL_IGNORE_OUTPT' is mistyped",
    ),
    "no-reason": (
        TEXT,
        source(7, "# 时间每次不同\n", ""),
        "cell 7 (In [6])",
        "does not say why",
    ),
    "skip": (
        TEXT,
        source(3, "# 最后一行是值", "# NBVAL_SKIP"),
        "cell 3 (In [2])",
        "not permitted",
    ),
    "tag": (
        TEXT,
        metadata(7, tags=["nbval-ignore-ouput"]),
        "cell 7 (In [6])",
        (
            "the tag 'nbval-ignore-ouput' is unknown or not permitted: did you mean "
            "'nbval-ignore-output'?"
        ),
    ),
    "timing": (
        TEXT,
        metadata(2, execution={"iopub.execute_input": "2020-01-01"}),
        "cell 2 (In [1])",
        "must not hold 'execution'",
    ),
    "kernel": (
        TEXT,
        lambda notebook: notebook.metadata.kernelspec.update(name="py35-paddle"),
        "",
        "the kernel has another name: expected 'python3', found 'py35-paddle'",
    ),
    "no-code": (TEXT, no_code, "", "the notebook has no code cell"),
    "curve": (
        FIGURES,
        source(2, "phase = 0", "phase = 0.628"),
        "cell 2 (In [2])",
        "the picture differs",
    ),
    "curve-gone": (
        FIGURES,
        source(2, "range(6, 10)", "range(6, 9)"),
        "cell 2 (In [2])",
        "the picture differs",
    ),
    "colour": (
        FIGURES,
        source(2, "'bmgr'", "'bmgc'"),
        "cell 2 (In [2])",
        "the picture differs",
    ),
    "label": (
        FIGURES,
        source(2, "f'Col {j}'", "f'Col {j}'.replace('6', '8')"),
        "cell 2 (In [2])",
        "the picture differs in a few spots",
    ),
    "colour-map": (
        FIGURES,
        source(3, "'Blues'", "'Greens'"),
        "cell 3 (In [3])",
        "the picture differs",
    ),
    "heat-cell": (
        FIGURES,
        source(3, "+= 0", "-= 0.2"),
        "cell 3 (In [3])",
        "the picture differs in a few spots",
    ),
    "white": (
        FIGURES,
        source(2, "ax.grid()", "ax.cla(); ax.set_axis_off()"),
        "cell 2 (In [2])",
        "the fresh picture is all white",
    ),
    "widget-picture": (
        WIDGETS,
        source(1, "(0, 0, 255)", "(255, 0, 0)"),
        "cell 2 (In [2])",
        "the picture differs wholly",
    ),
    "widget-text": (
        WIDGETS,
        source(1, "level = (0, 0, 255), 0", "level = (0, 0, 255), 7"),
        "cell 3 (In [3])",
        "text/plain differs in line 1: expected 'explore(level=0)'",
    ),
    "widget-alone": (
        WIDGETS,
        source(1, "'image/png'", "'image/x'"),
        "cell 2 (In [2])",
        "it comes in other formats: expected image/png, text/plain",
    ),
    "widget-stored": (
        WIDGETS,
        lambda notebook: notebook.cells[1].outputs[0].data.update({rules.WIDGET: {}}),
        "cell 2 (In [2])",
        "a widget is stored: make notebooks leaves its picture",
    ),
    "widget-state": (
        WIDGETS,
        lambda notebook: notebook.metadata.update(widgets={}),
        "",
        "the state of widgets is stored",
    ),
    "truncated": (
        FIGURES,
        picture(2, lambda text: text[: len(text) // 8 * 4]),
        "cell 2 (In [2])",
        "the stored picture is broken",
    ),
    "no-base64": (
        FIGURES,
        picture(2, lambda text: "?" + text),
        "cell 2 (In [2])",
        "a picture is broken",
    ),
}
SLOW = {
    "timeout": (
        TEXT,
        pause,
        "cell 4 (In [3])",
        "was not run, because cell 3 (In [2]) before it: timed out after 4 seconds",
    ),
    "caught": (
        TEXT,
        source(
            2,
            "0.25",
            "0.25\nimport time\ntry:\n    time.sleep(60)\n"
            "except KeyboardInterrupt:\n    pass",
        ),
        "cell 2 (In [1])",
        "timed out after 4 seconds",
    ),
    "dead": (
        TEXT,
        source(3, "number", "import os; os._exit(0)"),
        "cell 4 (In [3])",
        "was not run, because cell 3 (In [2]) before it: the kernel died",
    ),
}


def kind_of(cells):
    return {id(TEXT): "text", id(FIGURES): "figures", id(WIDGETS): "widgets"}[id(cells)]


def execute(cells):
    notebook = new_notebook(cells=copy.deepcopy(cells), metadata=copy.deepcopy(KERNEL))
    NotebookClient(notebook, kernel_name="python3", record_timing=False).execute()
    return notebook


def cut_elsewhere(notebook):
    """The same output in two pieces; the kernel sends it in 300."""
    notebook = copy.deepcopy(notebook)
    pieces = notebook.cells[5].outputs
    text = "".join(piece.text for piece in pieces)
    pieces[:] = [
        new_output("stream", name="stdout", text=part)
        for part in (text[:99], text[99:])
    ]
    return notebook


def saved_in_a_browser(notebook):
    """The same with what a progress bar leaves behind there, where others see none."""
    notebook = copy.deepcopy(notebook)
    notebook.cells[5].outputs.insert(0, new_output("display_data", data={}))
    return notebook


def start(folder, *options):
    """Start the pytest that tests the notebooks of a folder."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tools")])
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.gate.plugin",
            "-q",
            "--junitxml=report.xml",
            "--color=no",  # also where FORCE_COLOR asks for it: this is read
            *options,
        ],
        cwd=str(folder),
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


GATE = ("--nbval", "--nbval-current-env")


def results(folder):
    """Return {notebook: {item: message, or "" where it passed}}."""
    found = {}
    for case in ElementTree.parse(str(folder / "report.xml")).iter("testcase"):
        message = "".join(
            child.text or child.get("message")
            for child in case
            if child.tag in ("failure", "error", "skipped")
        )
        found.setdefault(case.get("classname").split(".")[0], {})[case.get("name")] = (
            message
        )
    return found


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """Run the gate on all notebooks: {name: {item: message}}, and the exit statuses."""
    good = {kind_of(cells): execute(cells) for cells in (TEXT, FIGURES, WIDGETS)}
    run_notebooks.tidy(good["widgets"])
    good["cut-elsewhere"] = cut_elsewhere(good["text"])
    good["saved-in-a-browser"] = saved_in_a_browser(good["text"])
    folders = [tmp_path_factory.mktemp("fast"), tmp_path_factory.mktemp("slow")]
    for folder, bad in zip(folders, (BAD, SLOW)):
        for name, (cells, edit, _, _) in bad.items():
            notebook = copy.deepcopy(good[kind_of(cells)])
            edit(notebook)
            nbformat.write(notebook, str(folder / (name + ".ipynb")))
    for name, notebook in good.items():
        nbformat.write(notebook, str(folders[0] / (name + ".ipynb")))
    (folders[0] / "not-json.ipynb").write_text("{", encoding="utf-8")
    (folders[0] / "format-3.ipynb").write_text(
        nbformat.writes(good["text"], version=3), encoding="utf-8"
    )
    runs = [
        start(folders[0], *GATE, "-n", "2", "--dist", "loadfile"),
        start(folders[1], *GATE, "--nbval-cell-timeout=4"),
    ]
    outputs = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [1, 1], "\n".join(outputs)
    found = {**results(folders[0]), **results(folders[1])}
    return {**found, "folder": folders[0], "printed": outputs[0]}


@pytest.mark.parametrize(
    "name", ["text", "figures", "widgets", "cut-elsewhere", "saved-in-a-browser"]
)
def test_good_notebook_passes(gate, name):
    cells = {"figures": FIGURES, "widgets": WIDGETS}.get(name, TEXT)
    assert len(gate[name]) == 1 + sum(c.cell_type == "code" for c in cells)
    assert not any(gate[name].values()), gate[name]


@pytest.mark.parametrize("name", [*BAD, *SLOW])
def test_bad_notebook_fails(gate, name):
    _, _, place, words = {**BAD, **SLOW}[name]
    start_of_line = "{}.ipynb{}".format(
        name,
        ", " + place if place.startswith("cell") else "",
    )
    lines = [line for text in gate[name].values() for line in text.splitlines()]
    assert any(
        line.startswith(start_of_line) and place in line and words in line
        for line in lines
    ), "\n".join(lines)


@pytest.mark.parametrize(
    "name, words",
    [
        ("not-json", "not-json.ipynb: is not a notebook"),
        ("format-3", "format-3.ipynb: is of notebook format 3: expected 4"),
    ],
)
def test_unreadable_notebook_fails(gate, name, words):
    assert gate[name]["rules"].startswith(words)


def test_one_edit_fails_in_one_place(gate):
    assert [item for item, text in gate["label"].items() if text] == ["cell 2"]
    assert next(item for item, text in gate["never-run"].items() if text) == "rules"


def test_remedy_is_named_once_for_each_notebook(gate):
    for name in BAD:
        line = f"If the change is meant: make notebooks NB={name}.ipynb\n"
        assert gate["printed"].count(line) == 1, name
    assert "NB=text.ipynb" not in gate["printed"]


def test_each_notebook_has_a_folder_for_its_pictures(tmp_path, monkeypatch):
    """Several are run at the same time, and each empties its own."""
    monkeypatch.chdir(tmp_path)
    folder, kept = tmp_path / "notebooks", Path("build", "gate", "notebooks")
    assert items.kept_pictures(folder / "x.ipynb") == kept / "x"
    assert items.kept_pictures(folder / "en" / "x.ipynb") == kept / "en" / "x"
    elsewhere = items.kept_pictures(tmp_path.parent / "x.ipynb")
    assert elsewhere.parts[:2] == ("build", "gate") and elsewhere.name == "x"


def test_pictures_that_differ_are_kept(gate):
    folder = gate["folder"] / "build" / "gate" / "label"
    assert "(see build/gate/label/cell-2-output-" in gate["label"]["cell 2"]
    assert sorted(path.name.split("-")[-1] for path in folder.iterdir()) == [
        "difference.png",
        "fresh.png",
        "stored.png",
    ]
    assert not (gate["folder"] / "build" / "gate" / "figures").exists()


@pytest.mark.parametrize(
    "options, words",
    [
        ((), "was not tested: expected --nbval"),
        (("--nbval-lax",), "--nbval-lax compares nothing"),
        ((*GATE, "-n", "2"), "expected --dist loadfile"),
        ((*GATE, "--nbval-sanitize-with=x"), "none may be replaced"),
        ((*GATE, "notebooks"), "notebooks holds no notebook to test"),
    ],
)
def test_a_gate_that_would_not_test_says_so(tmp_path, options, words):
    (tmp_path / "notebooks").mkdir()
    notebook = new_notebook(cells=[new_code_cell("1")], metadata=copy.deepcopy(KERNEL))
    nbformat.write(notebook, str(tmp_path / "x.ipynb"))
    run = start(tmp_path, *options)
    text = run.communicate(timeout=100)[0]
    assert run.returncode not in (0, 5) and words in text, text


HIDE = """
import needs
needs.OPTIONAL = {"no_such_package": "NoSuch"}
"""


@pytest.mark.parametrize("kernel", ["python3", "py35-paddle"])
def test_a_notebook_that_needs_a_missing_package_is_skipped(tmp_path, kernel):
    """Its cells are; what can be said of the file alone is tested nevertheless."""
    code = ["import no_such_package", "no_such_package.f()"]
    cells = [new_code_cell(c, execution_count=i) for i, c in enumerate(code, 1)]
    metadata = copy.deepcopy(KERNEL)
    metadata["kernelspec"]["name"] = kernel
    notebook = new_notebook(cells=cells, metadata=metadata)
    nbformat.write(notebook, str(tmp_path / "needs.ipynb"))
    other = new_notebook(cells=[new_code_cell("1 / 0")], metadata=KERNEL)
    nbformat.write(other, str(tmp_path / "other.ipynb"))
    (tmp_path / "conftest.py").write_text(HIDE, encoding="utf-8")
    run = start(tmp_path, *GATE, "-rs")
    text = run.communicate(timeout=100)[0]
    found = results(tmp_path)
    reason = "needs.ipynb needs NoSuch, not installed (make torch)"
    assert found["needs"].pop("rules").count("the kernel has another name") == (
        kernel != "python3"
    )
    assert {item: reason in said for item, said in found["needs"].items()} == {
        "cell 1": True,
        "cell 2": True,
    }
    (line,) = [line for line in text.splitlines() if line.startswith("SKIPPED")]
    assert line.startswith("SKIPPED [2] ") and line.endswith(reason)
    assert "ZeroDivisionError" in found["other"]["cell 1"] and run.returncode == 1


def test_notebooks_alone_do_without_the_plugins_of_other_tests():
    """They would load for 0.7 s in each process; the tests need one of them."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    recipes = [
        subprocess.run(
            ["make", "-n", target],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for target in ("test", "test-notebooks")
    ]
    assert ["-p no:hypothesispytest -p no:anyio" in text for text in recipes] == [
        False,
        True,
    ]


def sentences(code, **values):
    code_cell = new_code_cell(code, execution_count=1, **values)
    notebook = new_notebook(cells=[code_cell], metadata=copy.deepcopy(KERNEL))
    return [sentence for _, sentence in rules.problems(notebook)]


@pytest.mark.parametrize(
    "comment",
    [
        "#NVBAL_IGNORE_OUTPUT",
        "# nbval-ignore-output",
        "# NBVAL_IGNORE_OUTPUT because slow",
        "# NBVAL_IGNORE_OUTPUT: 每次不同",
        "# NBVAL IGNORE OUTPUT",
        "# nbval_ignore_output",
        "x = 1  # NBVAL_IGNORE_OUTPUT",
        "# NBVAL_IGNOREOUTPUT",
        "# IGNORE_OUTPUT",
        "# NBVAL_CHECK_OUTPUT",
        "# NBVAL_RAISES_EXCEPTION",
        "# PYTEST_VALIDATE_IGNORE_OUTPUT",
        "# NBVAL_ANYTHING",
        "# skip-execution",
        "# raises-exception",
        "# NBVALIGNOREOUTPUT",
    ],
)
def test_marker_that_nbval_would_not_honour(comment):
    assert any(
        "marker" in s and comment in s for s in sentences("# 原因是这样\n" + comment)
    )


@pytest.mark.parametrize(
    "comment",
    [
        "# 忽略输出",
        "# ignore the output of the first head",
        "# X的形状: (2, 4, 100)",
        "# check the output",
        "# skip the first row",
        "# raises ValueError",
        "#@save",
        "# nbval 会比较这个输出",
        "x = '#'  # (batch_size, num_steps)",
        "# valid_lens",
        "# an interval of naval_base",
        "# self-attention",
        "# keep the output, it is checked",
        "# masked_softmax ignores masked-out outputs",
        "# input_output 与 num_hiddens",
    ],
)
def test_ordinary_comment(comment):
    assert sentences(comment) == []


@pytest.mark.parametrize(
    "text",
    [
        "/home/me/x",
        'File "/tmp/ipykernel_12/3.py"',
        "C:\\Users\\me",
        "/Users/me/x",
        "Tensor(shape=[1], place=Place(gpu:0))",
    ],
)
def test_text_that_names_a_machine(text):
    stdout = new_output("stream", name="stdout", text=text)
    assert any("names this machine" in s for s in sentences("x", outputs=[stdout]))


@pytest.mark.parametrize(
    "text", ["https://d2l.ai/home/x", "a/tmp/b", "Replace(1)", "1/2"]
)
def test_text_that_names_no_machine(text):
    assert (
        sentences("x", outputs=[new_output("stream", name="stdout", text=text)]) == []
    )


@pytest.mark.parametrize("tag", ["nbval-skip", "skip-execution", "raises-exception"])
def test_tag_that_is_not_permitted(tag):
    assert any(repr(tag) in s for s in sentences("x", metadata={"tags": [tag]}))


def test_slideshow_says_where_a_cell_goes_and_nothing_else():
    for kind in "slide", "subslide", "fragment", "skip", "notes":
        assert sentences("x", metadata={"slideshow": {"slide_type": kind}}) == []
    for wrong in {"slide_type": "slides"}, {"slide_type": "skip", "x": 1}, {}:
        found = sentences("x", metadata={"slideshow": wrong})
        assert len(found) == 1 and f"subslide), found {wrong}" in found[0]


def test_ignore_tag_needs_a_reason_and_a_code_cell():
    tags = {"tags": ["nbval-ignore-output"]}
    assert any("does not say why" in s for s in sentences("x", metadata=tags))
    assert sentences("# 每次不同\nx", metadata=tags) == []
    text = new_notebook(
        cells=[new_markdown_cell("# NBVAL_IGNORE_OUTPUT", metadata=tags)]
    )
    found = [s for _, s in rules.problems(text)]
    assert any("misplaced: only a code cell" in s for s in found)
    assert any("alone on a line of a code cell" in s for s in found)


@pytest.mark.parametrize(
    "counts, wrong",
    [
        ([1, 2, 3], []),
        ([1, None, 2, 3], ["was never run: expected In [2], found In [ ]"]),
        ([1, 3, 4], ["was run out of order: expected In [2], found In [3]"]),
        ([1, 2, 2], ["was run out of order: expected In [3], found In [2]"]),
        ([2, 3], ["was run out of order: expected In [1], found In [2]"]),
    ],
)
def test_one_break_in_the_counting_is_one_message(counts, wrong):
    cells = [new_code_cell("x", execution_count=count) for count in counts]
    notebook = new_notebook(cells=cells, metadata=KERNEL)
    assert [sentence for _, sentence in rules.problems(notebook)] == wrong


def test_what_is_compared_is_computed_in_one_thread(tmp_path, monkeypatch):
    """Paddle writes a warning where it is told to take more, and digits may differ."""
    cell = new_code_cell("import os\nprint(os.environ.get('OMP_NUM_THREADS'))")
    cell.execution_count = 1
    cell.outputs = [new_output("stream", name="stdout", text="None\n")]
    notebook = new_notebook(cells=[cell], metadata=copy.deepcopy(KERNEL))
    nbformat.write(notebook, str(tmp_path / "a.ipynb"))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    process = start(tmp_path, *GATE)
    output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output
