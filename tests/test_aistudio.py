"""`make aistudio`: what is in the zip, and what its first cell does where it lands.

The environment is this one's, without d2l and d2l_ext: a new one with links to all other
packages. pip is the real one, and what it can find are files that a test has put there.
"""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import aistudio
import bundle_paddle_2_5
import bundle_start

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ROOT / "notebooks", ROOT / "notebooks" / "en"
NOTEBOOKS = [path for folder in FOLDERS for path in sorted(folder.glob("*.ipynb"))]
HIDDEN = "d2l", "__editable__", "torch"
# Quick ones: with diagrams, with formulas, and with data that come with the package. The
# cell is the same in all, and what they print is compared by the gate.
QUICK = [
    "10-1-attention-cues.ipynb",
    "10-6-self-attention-and-positional-encoding.ipynb",
    "10-6f-look-inside.ipynb",
]
WITH_PYTORCH = "10-6e-pytorch-beside-paddle.ipynb"
CHINESE = re.compile("[\u2e80-\u9fff\uff00-\uffef]")
READY = "d2l 0.17.6和d2l_ext 0.1.0取自"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("zip") / "aistudio.zip"
    aistudio.write_zip(path)
    return path


@pytest.fixture
def unpacked(bundle, tmp_path):
    """The zip's folder, in a place of its own, with what platforms write into it."""
    with zipfile.ZipFile(bundle) as file:
        file.extractall(tmp_path / "student")
    folder = tmp_path / "student" / aistudio.FOLDER
    for path in folder.glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["metadata"]["kernelspec"]["name"] = "py35-paddle1.2.0"
        path.write_text(json.dumps(notebook), encoding="utf-8")
    return folder


class Clean:
    """An environment with links to this one's packages, but for some."""

    def __init__(self, folder, hidden=HIDDEN):
        venv = [sys.executable, "-m", "venv", "--without-pip", str(folder / "clean")]
        subprocess.run(venv, check=True)
        self.python = folder / "clean" / "bin" / "python"
        (self.site,) = (folder / "clean" / "lib").glob("python*/site-packages")
        for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if not path.name.startswith(hidden):
                (self.site / path.name).symlink_to(path)
        self.folder = folder / "elsewhere"
        self.folder.mkdir()
        users = "PYTHON", "PIP_"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(users)}
        self.env.update(PIP_NO_INDEX="1", PYTHONIOENCODING="utf-8")
        self.env["PYTHON_COLORS"] = "0"  # tracebacks are read; pip does not look at it
        self.env.update(PIP_CONFIG_FILE=os.devnull)
        self.env.update(JUPYTER_DATA_DIR=str(folder), JUPYTER_PREFER_ENV_PATH="1")
        self.env.pop("JPY_SESSION_NAME", None)

    def run(self, *arguments, **env):
        return subprocess.run(
            [self.python, *arguments],
            cwd=self.folder,
            env={**self.env, **env},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def start(self, folder, also=(), language="zh", more="", **env):
        """Run the first cell as a program."""
        code = aistudio.bootstrap(language, list(also)) + "\n" + more
        return self.run("-c", code, D2L_BUNDLE=str(folder), **env)


@pytest.fixture
def clean(tmp_path):
    return Clean(tmp_path)


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in paths}


# The zip


def test_the_zip_has_the_notebooks_and_what_they_import(bundle):
    with zipfile.ZipFile(bundle) as file:
        names = set(file.namelist())
    expected = {"README.md", "LICENSE"}
    expected |= {f"packages/bundle_{n}.py" for n in ("start", "paddle_2_5")}
    expected |= {f"packages/d2l/{n}" for n in ("__init__.py", "paddle.py", "FROM.txt")}
    expected |= {f"packages/d2l/LICENSE-{n}" for n in ("SAMPLECODE", "SUMMARY")}
    expected |= {"packages/d2l_ext-0.1.0-py3-none-any.whl"}
    found = (ROOT / "notebooks").rglob("*.ipynb")
    found = [path.relative_to(ROOT / "notebooks").as_posix() for path in found]
    expected |= {name for name in found if re.fullmatch(r"(en/)?[^./]+\.ipynb", name)}
    assert names == {f"d2l-attention/{name}" for name in expected}
    assert len(NOTEBOOKS) >= 12


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_zip_is_the_same_every_time(bundle, tmp_path, mask):
    before = os.umask(mask)
    try:
        aistudio.write_zip(tmp_path / "again.zip")
    finally:
        os.umask(before)
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()
    assert os.listdir(tmp_path) == ["again.zip"]


def test_no_file_of_the_wheel_has_rights_of_its_own(tmp_path, monkeypatch):
    """They would be those that files have in the clone: there, as umask has it."""
    for name in aistudio.WHEEL_FROM:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "d2l_ext" / "rotary.py").chmod(0o700)
    monkeypatch.setattr(aistudio, "ROOT", tmp_path)
    (tmp_path / "out").mkdir()
    with zipfile.ZipFile(aistudio.wheel(tmp_path / "out")) as file:
        modes = {entry.external_attr >> 16 & 0o777 for entry in file.infolist()}
        assert file.testzip() is None and "d2l_ext/rotary.py" in file.namelist()
    assert modes == {0o644}


def test_d2l_is_as_its_authors_made_it_and_says_where_from(unpacked):
    folder = unpacked / "packages" / "d2l"
    for name in "__init__.py", "paddle.py":
        theirs = metadata.distribution("d2l").locate_file(f"d2l/{name}")
        assert (folder / name).read_bytes() == Path(theirs).read_bytes()
    licence = (folder / "LICENSE-SAMPLECODE").read_text(encoding="utf-8")
    assert "without restriction" in licence and "Amazon" in licence
    assert "d2l 0.17.6" in (folder / "FROM.txt").read_text(encoding="utf-8")


def test_the_wheel_is_of_this_tree(unpacked):
    (path,) = (unpacked / "packages").glob("*.whl")
    with zipfile.ZipFile(path) as file:
        inside = {n: file.read(n) for n in file.namelist() if "dist-info" not in n}
    package = files(ROOT / "d2l_ext")
    here = {
        "d2l_ext/" + name.as_posix(): data
        for name, data in package.items()
        if "__pycache__" not in name.parts
    }
    assert inside == here


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gets_one_cell_and_keeps_all_others(path):
    before = nbformat.read(path, as_version=4)
    after = nbformat.reads(aistudio.with_bootstrap(path, "zh"), as_version=4)
    nbformat.validate(after)
    first = after.cells.pop(0)
    assert (first.id, first.outputs) == ("bootstrap", [])
    needs_torch = path.name.startswith("10-6e")
    call = "bundle_start.start('zh'" + ", also=['torch'])" * needs_torch
    assert first.source.endswith(call if needs_torch else call + ")")
    assert after == before


def test_the_kernel_is_the_one_that_every_platform_has(tmp_path):
    spec = {"name": "py35-paddle1.2.0", "display_name": "x", "language": "python"}
    notebook = new_notebook(metadata={"kernelspec": spec})
    nbformat.write(notebook, tmp_path / "a.ipynb")
    text = aistudio.with_bootstrap(tmp_path / "a.ipynb", "zh")
    assert json.loads(text)["metadata"]["kernelspec"]["name"] == "python3"


def test_the_english_cell_is_in_english_and_does_the_same():
    chinese, english = (aistudio.bootstrap(language, []) for language in ("zh", "en"))
    assert CHINESE.search(chinese) and not CHINESE.search(english)
    assert all(len(line) <= 78 for line in english.splitlines())
    # Line by line the same, but for the words.
    for ours, other in zip(chinese.splitlines(), english.splitlines()):
        assert ours == other or CHINESE.search(ours) or "start('en'" in other
    assert len(chinese.splitlines()) == len(english.splitlines())
    assert bundle_start.ZH.keys() == bundle_start.EN.keys()
    assert not any(map(CHINESE.search, bundle_start.EN.values()))
    for key, text in bundle_start.ZH.items():
        fields = [set(re.findall(r"{\w+}", t)) for t in (text, bundle_start.EN[key])]
        assert fields[0] == fields[1]


# Where it lands


def test_quick_notebooks_run_elsewhere_offline_and_leave_nothing(unpacked, clean):
    before, installed = files(unpacked), os.listdir(clean.site)
    for path in unpacked.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    script = ROOT / "tools" / "run_bundle.py"
    done = clean.run(script, clean.folder, *(unpacked / name for name in QUICK))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(QUICK)
    python = ".".join(map(str, sys.version_info[:3]))
    for line, name in zip(lines, QUICK):
        assert line.startswith(f"{name}: 准备好了：") and f"Python {python}" in line
        assert READY + str(unpacked / "packages") in line and "没有安装任何包" in line
    # Root may write in spite of the rights: then Python's own notes lie there.
    after = {n: data for n, data in files(unpacked).items() if n.suffix != ".pyc"}
    assert after == before
    assert os.listdir(clean.site) == installed and not os.listdir(clean.folder)


def test_a_notebook_that_prints_or_draws_something_else_is_found(unpacked, clean):
    draw = "from matplotlib import pyplot as plt\nplt.title({!r})\n"
    draw += "plt.savefig('a.png')\nplt.close()"
    cells = {
        "good": [draw.format("$x$"), "print(1)"],
        "drawn": [draw.format("图"), "print(1)"],
        "printed": [draw.format("$x$"), "print(2)"],
    }
    for name, (figure, text) in cells.items():
        cell = new_code_cell(text)
        cell.outputs = [nbformat.v4.new_output("stream", text="1\n")]
        notebook = new_notebook(cells=[new_code_cell(figure + ";"), cell])
        nbformat.write(notebook, unpacked / f"{name}.ipynb")
        text = aistudio.with_bootstrap(unpacked / f"{name}.ipynb", "zh")
        (unpacked / f"{name}.ipynb").write_text(text, encoding="utf-8")
    script, paths = (
        ROOT / "tools" / "run_bundle.py",
        [f"{name}.ipynb" for name in cells],
    )
    done = clean.run(script, clean.folder, *(unpacked / path for path in paths))
    assert done.returncode == 1, done.stdout + done.stderr
    good, drawn, printed = re.split(r"\n(?=drawn|printed)", done.stdout)
    assert "准备好了" in good
    assert "AssertionError: a figure has the text 图" in drawn
    assert "2\n, not 1\n" in printed


def test_the_zip_beside_the_notebook_is_enough(bundle, clean, tmp_path):
    (tmp_path / "tmp").mkdir()
    more = "import d2l, d2l_ext; print(d2l_ext.__file__); " + "bundle_start.start('en')"
    done = clean.start(bundle.parent, TMPDIR=str(tmp_path / "tmp"), more=more)
    assert done.returncode == 0, done.stderr
    first, where, second = done.stdout.splitlines()
    assert where.startswith(str(tmp_path / "tmp"))
    assert first.startswith("准备好了") and second.startswith("Ready: ")
    assert os.listdir(bundle.parent) == ["aistudio.zip"]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_zip_that_has_not_arrived_whole_is_a_sentence(
    bundle, clean, tmp_path, language
):
    half = tmp_path / "half" / "aistudio.zip"
    half.parent.mkdir()
    half.write_bytes(bundle.read_bytes()[:100000])
    done = clean.start(half.parent, language=language)
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    says = "不完整" if language == "zh" else "is incomplete"
    assert line.startswith("OSError: ") and says in line and str(half) in line


@pytest.mark.parametrize(
    "packages, folder, told",
    [
        ("a", "a", None),
        ("a", "a/en", None),
        ("a", ".", None),
        ("a/b", ".", None),
        ("a/b", "c", "a/b/10-1.ipynb"),
        ("a", "c", "a/en/10-1.ipynb"),
        ("a.zip", "a.zip", None),
        ("a.zip", "a.zip/en", None),
        ("a/b.zip", ".", None),
        ("a.zip", "c", "a.zip/10-1.ipynb"),
        ("a b'\"[中文].zip", "a b'\"[中文].zip/en", None),
        ("a b'\"[中文]", "c", "a b'\"[中文]/10-1.ipynb"),
    ],
)
def test_the_cell_finds_the_packages(tmp_path, packages, folder, told):
    """Wherever the kernel starts; folders named .zip here have aistudio.zip in them."""
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    place, name = tmp_path / packages, "packages/bundle_start.py"
    place.mkdir(parents=True, exist_ok=True)
    text = "start = lambda language: print(language, __file__)"
    if place.suffix == ".zip":
        with zipfile.ZipFile(place / "aistudio (1).zip", "w") as file:
            file.writestr(f"{aistudio.FOLDER}/{name}", text)
    else:
        (place / "packages").mkdir()
        (place / name).write_text(text)
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    env.pop("JPY_SESSION_NAME", None)
    if told:
        env["JPY_SESSION_NAME"] = str(tmp_path / told)
    code = aistudio.bootstrap("zh", [])
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{code}"],  # twice: as if it were run again
        cwd=tmp_path / folder,
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == second and first.startswith(f"zh {tmp_path}{os.sep}")
    assert first.endswith(name) and (f"{place}{os.sep}" in first) == (not place.suffix)


def test_without_packages_it_says_what_to_do(clean, tmp_path):
    done = clean.start(tmp_path)
    assert done.returncode == 1
    assert "FileNotFoundError: 没有找到packages文件夹" in done.stderr
    done = clean.start(tmp_path, language="en")
    assert "FileNotFoundError: No packages folder" in done.stderr


def test_another_d2l_of_the_platform_is_passed_over(unpacked, clean):
    (clean.site / "d2l").mkdir()
    (clean.site / "d2l" / "__init__.py").write_text("__version__ = '1.0.3'")
    more = "import d2l_ext; print(d2l_ext.patch_d2l().__file__)"
    done = clean.start(unpacked, more=more)
    assert READY in done.stdout, done.stderr
    path = unpacked / "packages" / "d2l" / "paddle.py"
    assert done.stdout.splitlines()[-1] == str(path)
    code = f"import d2l\n{aistudio.bootstrap('zh', [])}"
    done = clean.run("-c", code, D2L_BUNDLE=str(unpacked))
    assert "内核里已经导入了别处的d2l" in done.stderr


def test_an_empty_folder_of_the_name_is_named_if_it_has_been_imported(unpacked, clean):
    (clean.folder / "d2l").mkdir()
    done = clean.start(unpacked)
    assert READY in done.stdout, done.stderr
    code = f"import d2l\n{aistudio.bootstrap('zh', [])}"
    done = clean.run("-c", code, D2L_BUNDLE=str(unpacked))
    says = f"Problem: 内核里已经导入了别处的d2l（{clean.folder / 'd2l'}）"
    assert says in done.stderr


@pytest.mark.parametrize("name", ["pandas", "matplotlib"])
def test_a_package_that_is_broken_is_named(unpacked, clean, name):
    (clean.folder / name).mkdir()
    text = "raise ValueError('numpy.dtype size changed')"
    (clean.folder / name / "__init__.py").write_text(text)
    done = clean.start(unpacked)
    assert done.returncode == 1 and "准备好了" not in done.stdout
    says = f"导入{name}时出错：ValueError: numpy.dtype size changed。请先按平台的说明"
    assert says in done.stderr


@pytest.mark.parametrize(
    "paddle, numpy, old",
    [
        ("2.4.2", "1.24.4", True),
        ("2.5.2", "1.18.5", True),
        ("2.5.2", "1.19.0", False),
        ("0.0.0", "1.24.4", False),
    ],
)
def test_what_fails_though_paddle_does_not_is_not_called_paddle_s(
    monkeypatch, paddle, numpy, old
):
    """Before Paddle 2.5 and NumPy 1.19, d2l_ext cannot be imported."""
    for name, version in ("paddle", paddle), ("numpy", numpy):
        module = importlib.import_module(name)
        monkeypatch.setattr(module, "__version__", version)
    error = AttributeError("no NDArray")
    says = bundle_start.why_not(bundle_start.EN, error)
    assert says.startswith("Importing d2l_ext failed: AttributeError: no NDArray. ")
    needs = f"Here are Paddle {paddle} and NumPy {numpy}; d2l_ext needs Paddle 2.5 and"
    assert (needs in says) == old
    says = bundle_start.why_not(bundle_start.ZH, error)
    assert "导入d2l_ext时出错：AttributeError: no NDArray。" in says
    monkeypatch.delitem(bundle_start.sys.modules, "paddle")
    assert "Importing paddle failed: " in bundle_start.why_not(bundle_start.EN, error)


def test_a_file_that_hides_paddle_is_named(unpacked, clean):
    (clean.folder / "paddle.py").write_text("")
    done = clean.start(unpacked)
    assert f"Problem: 导入paddle时出错：ImportError: {clean.folder}" in done.stderr
    assert "paddle.py hides the installed PaddlePaddle" in done.stderr


def test_the_notebook_that_needs_pytorch_runs_where_it_is(unpacked, tmp_path):
    pytest.importorskip("torch")
    clean = Clean(tmp_path, hidden=HIDDEN[:-1])
    script, path = ROOT / "tools" / "run_bundle.py", unpacked / WITH_PYTORCH
    done = clean.run(script, clean.folder, path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{WITH_PYTORCH}: 准备好了：")


def test_pytorch_is_only_missed(unpacked, clean):
    done = clean.start(unpacked, also=["torch"])
    note, ready = done.stdout.splitlines()
    assert "还要用PyTorch，这里没有" in note and READY in ready


# What is missing


def fake_wheel(folder, name, requires=None):
    """A package with nothing in it, of version 99."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-99.dist-info"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 99\n"
    about += f"Requires-Dist: {requires}\n" if requires else ""
    kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / f"{name}-99-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}/__init__.py", "__version__ = '99'")
        file.writestr(f"{info}/METADATA", about)
        file.writestr(f"{info}/WHEEL", kind)
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture
def poor(tmp_path):
    """An environment without requests, where pip finds what is in a folder."""
    environment = Clean(tmp_path, hidden=(*HIDDEN, "requests"))
    if not (environment.site / "pip").exists():  # looking for it by name would undo
        pytest.skip("this environment has no pip")  # setuptools' distutils in here
    environment.env["PIP_FIND_LINKS"] = str(tmp_path / "links")
    (tmp_path / "links").mkdir()
    return environment


def test_what_is_missing_is_installed_and_nothing_else(unpacked, poor, tmp_path):
    before = set(os.listdir(poor.site))
    fake_wheel(tmp_path / "links", "requests", requires="numpy")
    for better in "numpy", "pandas", "paddlepaddle":
        fake_wheel(tmp_path / "links", better)
    done = poor.start(unpacked)
    assert done.returncode == 0, done.stdout + done.stderr
    says, ready = done.stdout.splitlines()
    assert says.startswith("缺少requests，正在用pip安装")
    assert READY in ready and "；安装了requests。" in ready
    new = set(os.listdir(poor.site)) - before
    assert new == {"requests", "requests-99.dist-info"}
    again = poor.start(unpacked)
    assert "没有安装任何包" in again.stdout


def test_what_asks_for_another_version_of_the_platform_s_is_refused(
    unpacked, poor, tmp_path
):
    before = os.listdir(poor.site)
    fake_wheel(tmp_path / "links", "requests", requires="numpy>=99")
    fake_wheel(tmp_path / "links", "numpy")
    done = poor.start(unpacked)
    assert done.returncode == 1
    (line,) = re.findall("Problem: 缺少requests，pip没有装上：.*", done.stderr)
    # Both sides of it, where pip's own last words are an address to read at.
    assert "requests 99 depends on numpy>=99; " in line
    assert f"(constraint) numpy=={np.__version__}。没有网络" in line
    assert os.listdir(poor.site) == before


@pytest.mark.parametrize("colours", [{}, {"FORCE_COLOR": "1"}])  # every kernel asks
def test_without_network_it_says_what_is_missing(unpacked, poor, colours):
    before = os.listdir(poor.site)
    done = poor.start(unpacked, **colours)
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert "Problem: 缺少requests，pip没有装上：No matching distribution" in line
    assert "没有网络时装不了；请联网后重新运行" in line
    assert os.listdir(poor.site) == before


class Failed:
    returncode = 1
    stdout = "ERROR: x\nERROR: 没有\nnotice".encode()


@pytest.mark.parametrize("absent", [("paddle", "setuptools"), ("paddle",)])
def test_without_paddle_pip_is_asked_for_the_one_that_is_tried(monkeypatch, absent):
    """And not for a newer setuptools: Python 3.8 and Colab have an older one."""
    find, commands = bundle_start.importlib.util.find_spec, []

    def noted(command, **_):
        path = Path(command[command.index("--constraint") + 1])
        commands.append((command, path.read_text(encoding="utf-8").splitlines()))
        return Failed

    monkeypatch.setattr(
        bundle_start.importlib.util,
        "find_spec",
        lambda n: None if n in absent else find(n),
    )
    monkeypatch.setattr(bundle_start.subprocess, "run", noted)
    names = "paddlepaddle、setuptools" if len(absent) > 1 else "paddlepaddle"
    with pytest.raises(bundle_start.Problem, match=f"缺少{names}，.*：没有。"):
        bundle_start.install_missing(bundle_start.ZH)
    ((command, fixed),) = commands
    wanted = [bundle_start.PADDLE[name] for name in absent]
    assert command[-len(wanted) - 1 :][1:] == wanted
    assert "=" not in bundle_start.PADDLE["setuptools"]
    assert f"nbformat=={metadata.version('nbformat')}" in fixed
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'cpu = ["{bundle_start.PADDLE["paddle"]}", "setuptools' in text
    assert all(f'"{name}>=' in text for name in bundle_start.NEEDED.values())


def test_a_package_that_is_there_twice_is_held_to_the_one_that_is_imported(
    tmp_path, monkeypatch
):
    for place, version in ("user", "2.1"), ("system", "1.9"):
        for name in "num.py", "num_py":
            info = tmp_path / place / f"{name}-{version}.dist-info"
            info.mkdir(parents=True)
            about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            (info / "METADATA").write_text(about)
    path = [str(tmp_path / place) for place in ("user", "system")]
    monkeypatch.setattr(bundle_start.sys, "path", path)
    (line,) = bundle_start.installed_versions()
    assert line in ("num.py==2.1", "num_py==2.1")


def test_an_old_python_is_told(monkeypatch):
    monkeypatch.setattr(bundle_start.sys, "version_info", (3, 7, 16))
    with pytest.raises(bundle_start.Problem, match=r"Python 3\.7\.16.*3\.8或更新"):
        bundle_start.start("zh")
    for name in "bundle_cell.py", "bundle_start.py":
        text = (ROOT / "tools" / name).read_text(encoding="utf-8")
        ast.parse(text, feature_version=(3, 7))


@pytest.mark.parametrize(
    "version, note",
    [
        ("2.4.2", "Note: Paddle 2.4.2 is too old: the oldest tried is 2.5.2."),
        ("2.5.2", "Note: Paddle 2.5.2 lacks a few things that these notebooks use."),
        ("2.6.2", ""),
        ("3.3.9", ""),
        ("3.4.0", "Note: Paddle 3.4.0 is newer than what was tried, up to 3.3."),
        ("2.5.0-rc1", "Note: Paddle 2.5.0-rc1 lacks a few things that these"),
        ("0.0.0", "Note: this Paddle (0.0.0) is not a release, and was not tried;"),
        ("develop", "Note: this Paddle (develop) is not a release, and was not"),
    ],
)
def test_versions_that_were_not_tried_are_named(monkeypatch, capsys, version, note):
    import paddle

    monkeypatch.setattr(bundle_start, "use_packages", lambda say: None)
    monkeypatch.setattr(bundle_start, "install_missing", lambda say: [])
    monkeypatch.setattr(paddle, "__version__", version)
    raised = []
    monkeypatch.setattr(bundle_paddle_2_5, "bring_up", raised.append)
    bundle_start.start("en")
    assert raised == [paddle] * version.startswith("2.5")
    *notes, ready = capsys.readouterr().out.splitlines()
    assert "".join(notes).startswith(note) and len(notes) == bool(note)
    assert ready.startswith("Ready: this machine, Python 3.")


def test_an_old_matplotlib_is_named(monkeypatch, capsys):
    import matplotlib

    monkeypatch.setattr(bundle_start, "use_packages", lambda say: None)
    monkeypatch.setattr(bundle_start, "install_missing", lambda say: [])
    for version, count in ("3.4.3", 2), ("3.5.0", 1), ("3.10.9", 1):
        monkeypatch.setattr(matplotlib, "__version__", version)
        bundle_start.start("en")
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == count
        assert count == 1 or f"matplotlib {version} is older than 3.5" in lines[0]


def test_a_nightly_of_2_5_is_known_by_what_it_lacks():
    class Nightly:
        __version__, fluid = "0.0.0", object()

    assert bundle_start.is_nightly_of_2_5(Nightly)
    Nightly.__version__ = "2.4.2"
    assert not bundle_start.is_nightly_of_2_5(Nightly)
    Nightly.__version__, Nightly.base = "0.0.0", object()
    assert not bundle_start.is_nightly_of_2_5(Nightly)


def test_paddle_2_5_makes_what_it_makes_of_the_default_dtype():
    """A stand-in: all notebooks run with the real one in `make test-bundle`."""

    class Old:
        Tensor = type("Tensor", (), {})
        fluid, flags = object(), {}

    def make(shape, fill_value=0, dtype=None, name=None):
        return shape, fill_value, dtype or "float32"

    for name in bundle_paddle_2_5.MAKERS:
        setattr(Old, name, make)
    Old.set_flags, Old.assign = Old.flags.update, None
    Old.get_default_dtype = lambda: "float64"
    before = sys.modules.get("paddle.base")
    try:
        bundle_paddle_2_5.bring_up(Old)
        assert sys.modules["paddle.base"] is Old.base is Old.fluid
    finally:
        sys.modules["paddle.base"] = before
    assert Old.flags == {"FLAGS_set_to_1d": False}
    tensor = Old.Tensor()
    assert tensor.contiguous() is tensor
    assert Old.full([2], 3) == ([2], 3, "float64")
    assert Old.full([2], fill_value=3, dtype=None) == ([2], 3, "float64")
    assert Old.ones([2], 1, "int64") == Old.ones([2], 1, dtype="int64")
    assert Old.ones([2], 1, "int64") == ([2], 1, "int64")
    before = Old.ones
    bundle_paddle_2_5.bring_up(Old)  # the cell is run again
    assert Old.ones is before


@pytest.mark.parametrize("beta, alpha", [(0.0, 1.0), (1.0, 1.0), (0.5, 3.0)])
def test_paddle_2_5_adds_a_product_in_place(beta, alpha):
    import paddle

    rng = np.random.default_rng(0)
    a, x, y = (rng.standard_normal(shape) for shape in ([2, 5], [2, 3], [3, 5]))
    expected = alpha * x @ y + (beta * a if beta else 0)
    tensor = paddle.to_tensor(a if beta else a * np.nan)  # memory may hold anything
    found = bundle_paddle_2_5.addmm_(
        tensor,
        *map(paddle.to_tensor, (x, y)),
        beta=beta,
        alpha=alpha,
        assign=paddle.assign,
    )
    assert found is tensor
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-12)


def test_a_gpu_is_named(monkeypatch):
    import paddle

    for compiled, name, shown in (
        (True, "gpu:0", "GPU:0"),
        (True, "cpu", bundle_start.EN["no gpu"]),
        (False, "cpu", "CPU"),
    ):
        monkeypatch.setattr(paddle.device, "get_device", lambda name=name: name)
        monkeypatch.setattr(paddle, "is_compiled_with_cuda", lambda c=compiled: c)
        assert bundle_start.device(paddle, bundle_start.EN) == shown


# The tool


def test_without_d2l_or_a_wheel_it_says_so_and_leaves_no_half(
    tmp_path, monkeypatch, capsys
):
    for name in "d2l_ext", "tools", "notebooks":
        (tmp_path / name).symlink_to(ROOT / name)
    for name in "LICENSE", "README.md":
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "pyproject.toml").write_text("[build-system]\nrequires = 1\n")
    monkeypatch.setattr(aistudio, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert aistudio.main() == 1
    assert "aistudio: The wheel of d2l_ext was not made. " in capsys.readouterr().err
    monkeypatch.setattr(aistudio, "D2L_VERSION", "0.17.5")
    monkeypatch.setattr(aistudio, "wheel", lambda folder: ROOT / "LICENSE")
    assert aistudio.main() == 1
    text = f"aistudio: d2l {metadata.version('d2l')} is installed, 0.17.5 is wanted."
    assert text in capsys.readouterr().err
    assert os.listdir(tmp_path / "build") == []


# Text in figures: the quick notebooks are listened to while they draw. This reads all.

DRAWS = re.compile(
    r"(plot|show_heatmaps|explore|hist|bar|scatter|text|annotate|legend|(set_)?([xy]label|"
    r"title|[xy]ticks|[xy]ticklabels)|suptitle|colorbar|imshow|figure|subplots|set)$"
)


def drawn_in_chinese(code):
    """Chinese texts in the calls of a cell that draw, themselves or what they contain."""
    code = re.sub("^ *[%!].*$", "", code, flags=re.MULTILINE)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if DRAWS.match(name):
                for part in ast.walk(node):
                    text = part.value if isinstance(part, ast.Constant) else None
                    if isinstance(text, str) and CHINESE.search(text):
                        yield text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_call_that_draws_has_chinese_text(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert [text for source in code for text in drawn_in_chinese(source)] == []


def test_a_call_that_draws_chinese_text_is_found():
    found = drawn_in_chinese("%a\nprint('一')\nd2l.plot(x, legend=['二', f'{x}三'])")
    assert list(found) == ["二", "三"]
    assert list(drawn_in_chinese("plt.title('四')\nset_title('a')")) == ["四"]


def test_what_the_package_draws_has_no_chinese_text():
    package = ROOT / "d2l_ext"
    for path in {*package.rglob("*.py")} - {*package.rglob("doctor/*")}:
        assert not CHINESE.search(path.read_text(encoding="utf-8")), path
