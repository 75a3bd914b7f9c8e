"""The doctor: each situation is brought about, and named with what to do.

Most run it for real, in a new virtual environment with small stand-ins for packages: what
the doctor does not import itself may be missing, crash or hang there. What cannot be had
so (a processor, a full disk) is a stand-in for what the check reads.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

import bundle_start
import problems
from d2l_ext.doctor import __main__ as doctor
from d2l_ext.doctor import folders, imports, machine, packages, probe, sentences

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "d2l_ext" / "doctor").glob("*.py"))
SENTENCES = sentences.SENTENCES

PADDLE = """
import random, subprocess, types
__version__, CUDA, DEVICES = "3.3.1", False, 0
class Four:
    def sum(self):
        return 4.0
Z = types.SimpleNamespace(numpy=Four)
functional = types.SimpleNamespace(softmax=lambda X: X, conv1d=lambda X, W: Z)
nn = types.SimpleNamespace(functional=functional)
to_tensor = ones = matmul = lambda *arguments: None
is_compiled_with_cuda = lambda: CUDA
device = types.SimpleNamespace(cuda=types.SimpleNamespace(device_count=lambda: DEVICES))
"""
STAND_INS = {
    "numpy/__init__.py": "__version__ = '2.0.0'; ones = lambda *arguments: None",
    "paddle/__init__.py": PADDLE,
    "paddle/nn/__init__.py": "",
    "d2l/__init__.py": "",
    "d2l/paddle.py": "",
    "d2l_ext/__init__.py": "",
    "d2l_ext/attention.py": "",
    "matplotlib/__init__.py": "",
    "matplotlib/pyplot.py": "",
    "matplotlib/font_manager.py": "findfont = lambda *arguments, **others: None",
    "jupyter_client/__init__.py": "",
    "jupyter_client/kernelspec.py": "class KernelSpecManager:\n    get_all_specs = dict",
    "jupyter_core/__init__.py": "",
    "jupyter_core/paths.py": "jupyter_runtime_dir = str",
    "ipykernel/__init__.py": "",
    "ipykernel/kernelapp.py": "",
    "pip/__init__.py": "",
    **{
        f"{name}/__init__.py": ""
        for name in "matplotlib_inline pandas requests PIL IPython ipywidgets torch".split()
    },
}
UNWANTED = re.compile(
    "PYTHON|LC_|LANG|OMP_|MPL|FLAGS_|GLOG|JUPYTER|IPYTHON|VIRTUAL_ENV"
)


class Machine:
    """A bare virtual environment, a home folder, and one for notebooks."""

    def __init__(self, path):
        self.notebooks, self.home, root = (path / n for n in ("nb", "home", "env"))
        self.notebooks.mkdir()
        self.home.mkdir()
        venv.create(root, symlinks=True)
        self.python = root / "bin" / "python"
        (self.site,) = root.glob("lib/python*/site-packages")

    def fill(self):
        for name, content in STAND_INS.items():
            write(self.site / name, content)
        return self

    def borrow(self):
        """After the stand-ins, what is installed where the tests run."""
        site = Path(PathFinder.find_spec("jupyter_client").origin).parents[1]
        write(self.site / "borrowed.pth", str(site))

    def installed(self, name, version):
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        write(self.site / folder / "METADATA", text)

    def doctor(self, *arguments, python=None, cwd=ROOT, **environ):
        """(exit status, text) of the doctor of this repository, not installed."""
        base = {k: v for k, v in os.environ.items() if not UNWANTED.match(k)}
        done = subprocess.run(
            [python or self.python, "-m", "d2l_ext.doctor", self.notebooks, *arguments],
            cwd=cwd,
            env={**base, "HOME": str(self.home), **environ},
            capture_output=True,
            check=False,
        )
        assert done.stderr == b""
        text = done.stdout.decode("utf-8")
        assert text.startswith("d2l_ext.doctor: Python")
        return done.returncode, text


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def pattern(name):
    """What a finding says, whatever stands in its braces."""
    text = re.escape(SENTENCES[name].english[0])
    return re.sub(r"\\\{\w+\\\}", "[^\n]*?", text)


def names(text):
    """The findings on a page, in order, each with its mark."""
    result = []
    for mark, line in re.findall(r"^\[(\w+)\] (.*)$", text, re.MULTILINE):
        fits = [name for name in SENTENCES if re.fullmatch(pattern(name), line)]
        assert fits and (mark == "STOPS") is SENTENCES[fits[0]].stops, line
        result.append(fits[0])
    return result


@pytest.fixture
def bare(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def whole(bare):
    return bare.fill()


# Where nothing is wrong


def test_where_these_tests_run_nothing_stops(bare, monkeypatch):
    """With all that is installed here, and the notebooks as they are."""
    import matplotlib

    monkeypatch.setattr(bare, "notebooks", ROOT)
    # With the list of fonts that is there: making it takes seconds.
    environ = {"PYTHONPATH": str(ROOT), "MPLCONFIGDIR": matplotlib.get_cachedir()}
    status, text = bare.doctor(python=sys.executable, **environ)
    optional = {"no-torch", "no-widgets", "no-gpu", "no-pip"}
    assert status == 0 and set(names(text)) <= optional, text
    assert f"{ROOT / 'notebooks'}\n" in text and text.count("\n") < 20


def test_stand_ins_are_healthy(whole):
    status, text = whole.doctor()
    assert (status, names(text)) == (0, [])
    last = text.rstrip("\n").rpartition("\n")[2]
    assert last == "Nothing was found that stops a notebook (notes: 0)."


# What is missing


def test_nothing_installed(bare):
    status, text = bare.doctor()
    expected = ["no-paddle", "no-d2l-ext", "no-d2l", "missing"]
    notes = ["no-pip", "no-widgets", "no-torch"]
    assert (status, names(text)) == (1, [*expected, *notes])
    pip = f"-> {bare.python} -m pip install"
    assert f'{pip} "paddlepaddle>=2.6.2,<3.4"\n' in text
    assert f"{pip} --no-deps d2l==0.17.6\n" in text
    assert f"{pip} numpy matplotlib matplotlib-inline pandas requests pillow" in text
    assert f"    -> {bare.python} -m ensurepip; or " in text
    assert text.endswith("Findings that stop a notebook: 4 of 7.\n")


@pytest.mark.parametrize(
    "package, name, status, words",
    [
        ("paddle", "no-paddle", 1, "pip install"),
        ("d2l_ext", "no-d2l-ext", 1, "In the repository's folder: "),
        ("d2l", "no-d2l", 1, "pip install --no-deps d2l=="),
        ("PIL", "missing", 1, "pip install pillow"),
        ("ipykernel", "missing", 1, "pip install ipykernel"),
        ("ipywidgets", "no-widgets", 0, "pip install ipywidgets"),
        ("torch", "no-torch", 0, "make torch"),
    ],
)
def test_one_package_missing(whole, package, name, status, words):
    shutil.rmtree(whole.site / package)
    found = whole.doctor()
    assert (found[0], names(found[1])) == (status, [name]) and words in found[1]


def test_a_copy_beside_the_notebooks_will_do(whole):
    for package in "d2l", "d2l_ext":
        shutil.move(whole.site / package, whole.notebooks / package)
    assert whole.doctor()[0] == 0


def test_the_zip_for_students_brings_its_own(whole, tmp_path):
    """And its wheel has the doctor, which is run from there."""
    for package in "d2l", "d2l_ext":
        shutil.rmtree(whole.site / package)
    write(whole.notebooks / "packages" / "bundle_start.py", "")
    write(whole.notebooks / "en" / "a.ipynb", notebook("python3"))
    assert names(whole.doctor()[1]) == []
    wheel = tmp_path / "d2l_ext-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("d2l_ext/__init__.py", "")  # the real one is not for stand-ins
        for path in SOURCES:
            file.write(path, f"d2l_ext/doctor/{path.name}")
    whole.notebooks = whole.notebooks / "en"
    environ = {"cwd": tmp_path, "PYTHONPATH": str(wheel)}
    status, text = whole.doctor(**environ)
    assert (status, names(text)) == (0, []), text
    (whole.notebooks.parent / "packages" / "bundle_start.py").unlink()
    assert names(whole.doctor()[1]) == ["no-d2l-ext", "no-d2l"]


def test_d2l_of_another_release(whole):
    (whole.site / "d2l" / "paddle.py").unlink()
    whole.installed("d2l", "1.0.3")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["d2l-version"])
    assert f"d2l 1.0.3 in {whole.site / 'd2l'} has no" in text and "d2l==0.17.6" in text


def test_two_builds_of_paddle(whole):
    whole.installed("paddlepaddle", "3.3.1")
    assert names(whole.doctor()[1]) == []
    whole.installed("paddlepaddle-gpu", "2.6.2")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["two-paddles"])
    assert "pip uninstall -y paddlepaddle paddlepaddle-gpu, then" in text


@pytest.mark.parametrize(
    "paddle, numpy, expected",
    [
        ("2.6.2", "1.26.4", []),
        ("2.6.2", "2.0.2", ["numpy-for-paddle"]),
        ("3.0.0", "2.5.5", []),
        ("2.5.2", "1.26.4", ["paddle-untried"]),
        ("3.4.0", "2.5.5", ["paddle-untried"]),
    ],
)
def test_versions_that_were_not_tried_together(paddle, numpy, expected):
    seen = probe.Probe()
    for name, version in (("paddle", paddle), ("numpy", numpy)):
        seen.stages[name] = probe.Stage({"version": version}, "", "")
    assert [finding.name for finding in packages.versions(seen)] == expected


@pytest.mark.parametrize("build", ["paddlepaddle", "paddlepaddle-gpu"])
def test_another_paddle_comes_in_the_place_of_the_installed_one(whole, build):
    """And not beside it: two builds are a finding themselves."""
    code = PADDLE.replace("3.3.1", "2.5.2")
    write(whole.site / "paddle" / "__init__.py", code)
    code = STAND_INS["numpy/__init__.py"].replace("2.0.0", "1.26.4")
    write(whole.site / "numpy" / "__init__.py", code)
    whole.installed(build, "2.5.2")
    status, text = whole.doctor()
    assert (status, names(text)) == (0, ["paddle-untried"])
    assert f"pip uninstall -y {build}, then {whole.python} -m pip install" in text


def test_another_copy_of_d2l_ext_is_installed(whole):
    shutil.copytree(whole.site / "d2l_ext", whole.notebooks / "d2l_ext")
    assert names(whole.doctor()[1]) == []
    write(whole.notebooks / "d2l_ext" / "attention.py", "changed = True")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["other-copy"])
    assert f"import the d2l_ext in {whole.site / 'd2l_ext'}, whose" in text


# Files beside the notebooks


SHADOWS = (
    "paddle paddle/ d2l d2l/ d2l_ext numpy torch matplotlib/ json random subprocess"
)


@pytest.mark.parametrize("name", SHADOWS.split())
def test_a_file_or_folder_that_hides_a_module(whole, name):
    path = whole.notebooks / (f"{name}__init__.py" if name[-1] == "/" else f"{name}.py")
    write(path, "raise SystemExit('run')")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["shadow"])
    hiding = path.parent if name[-1] == "/" else path
    assert f"{hiding} hides the module {name.rstrip('/')}: `import" in text


def test_the_doctor_does_not_import_what_lies_in_its_own_folder(whole):
    """As students run it: in the notebooks' folder, where d2l_ext is installed."""
    write(whole.site / "repository.pth", str(ROOT))
    shutil.rmtree(whole.site / "d2l_ext")
    hiding = ["argparse", "json", "random", "subprocess", "tempfile"]
    for name in hiding:
        write(whole.notebooks / f"{name}.py", "raise SystemExit('run')")
    done = subprocess.run(
        [whole.python, "-m", "d2l_ext.doctor"],
        cwd=whole.notebooks,
        env={"HOME": str(whole.home)},
        capture_output=True,
        check=False,
    )
    text = done.stdout.decode("utf-8")
    assert done.stderr == b"" and names(text).count("shadow") >= 3
    assert "json.py hides" in text and "random.py hides" in text


@pytest.mark.parametrize(
    "name", ["my_model.py", "antigravity.py", "os.py", "paddle/a.txt"]
)
def test_what_hides_nothing_is_no_finding(whole, name):
    write(whole.notebooks / name, "")
    assert names(whole.doctor()[1]) == []


@pytest.mark.parametrize(
    "name, expected",
    [
        ("paddle/__init__.py", ["path-entry"]),
        ("numpy/__init__.py", ["path-entry"]),
        ("random.py", ["shadow"]),
        ("torch.py", ["shadow"]),
        ("json.py", ["shadow"]),
    ],
)
def test_a_folder_in_pythonpath_comes_first(whole, tmp_path, name, expected):
    write(tmp_path / "mine" / name, STAND_INS.get(name, ""))
    if name.startswith("paddle"):
        write(tmp_path / "mine" / "paddle" / "nn" / "__init__.py", "")
    status, text = whole.doctor(PYTHONPATH=str(tmp_path / "mine"))
    assert (status, names(text)) == (int(expected == ["shadow"]), expected)


# Packages that fail


def test_a_processor_that_paddle_does_not_fit(whole):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    write(whole.site / "paddle" / "__init__.py", code)
    write(whole.site / "matplotlib" / "pyplot.py", "import nothing")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["avx", "needs"])  # it went on after the crash


def test_a_package_that_ends_the_process(whole):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    write(whole.site / "matplotlib" / "pyplot.py", code)
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["crash"])
    assert "Importing matplotlib ends the process (SIGSEGV)" in text


def test_a_package_that_never_ends(whole, monkeypatch):
    write(whole.site / "paddle" / "__init__.py", "import time; time.sleep(60)")
    monkeypatch.setattr(sys, "executable", str(whole.python))
    monkeypatch.setattr(probe, "LIMIT", 0.5)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    seen = probe.probe()
    assert [finding.name for finding in imports.imports(seen)] == ["slow"]
    assert seen["kernels"].value and seen[probe.LOADED].value


# The texts are those of numpy 2.0, protobuf 3.19 and 4.21, Paddle 2.6 and glibc.
FAILURES = [
    (
        "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.2",
        "numpy",
    ),
    ("numpy.core.multiarray failed to import", "numpy"),
    ("Descriptors cannot be created directly.", "protobuf"),
    ("cannot import name 'builder' from 'google.protobuf.internal' (x.py)", "protobuf"),
    ("libcudart.so.11.0: cannot open shared object file: No such file", "cuda-library"),
    (
        "(PreconditionNotMet) The third-party dynamic library (libcudnn.so) that Paddle "
        "depends on is not configured correctly.",
        "cuda-library",
    ),
    (
        "(External) CUDA error(35), CUDA driver version is insufficient for CUDA runtime "
        "version.",
        "gpu-driver",
    ),
    ("(External) CUDA error(2), out of memory.", "gpu"),
    (
        "/lib/libc.so.6: version `GLIBC_2.28' not found (required by libpaddle)",
        "old-system",
    ),
    ("libgomp.so.1: cannot open shared object file: No such file", "shared-object"),
    ("something new", "broken"),
]


@pytest.mark.parametrize("message, name", FAILURES)
def test_an_import_that_fails(whole, message, name):
    write(whole.site / "paddle" / "__init__.py", f"raise ImportError({message!r})")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, [name])
    shown = SENTENCES[name].english[0]
    assert "{error}" not in shown or message in text


def test_old_protobuf(whole):
    """What Paddle's own files import, and an older protobuf lacks."""
    for folder in "google", "google/protobuf", "google/protobuf/internal":
        write(whole.site / folder / "__init__.py", "")
    code = "from google.protobuf.internal import builder"
    write(whole.site / "paddle" / "__init__.py", code)
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["protobuf"])
    assert 'pip install --upgrade "protobuf>=3.20.2"' in text


def test_a_package_that_needs_another(whole):
    write(whole.site / "d2l" / "paddle.py", "import torchvision")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["needs"])
    assert "d2l.paddle needs torchvision" in text and "install torchvision\n" in text


@pytest.mark.parametrize(
    "module, package", [("google", "protobuf"), ("dateutil.tz", "python-dateutil")]
)
def test_what_pip_calls_by_another_name(whole, module, package):
    message = f"No module named {module!r}"
    write(whole.site / "d2l" / "paddle.py", f"raise ImportError({message!r})")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["needs"])
    assert f"d2l.paddle needs {module}, " in text
    assert f"-m pip install {package}\n" in text


def test_a_package_too_old_to_have_what_another_needs(whole):
    whole.installed("numpy", "1.19.5")
    write(whole.site / "d2l_ext" / "__init__.py", "import numpy.typing")
    text = "No module named 'numpy.typing'"
    write(whole.site / "numpy" / "typing.py", f"raise ModuleNotFoundError({text!r})")
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["needs-part"])
    assert "d2l_ext needs numpy.typing, which the installed numpy does not" in text
    assert "-m pip install --upgrade numpy\n" in text


def test_a_paddle_that_computes_something_else(whole):
    write(whole.site / "paddle" / "__init__.py", PADDLE.replace("4.0", "5.0"))
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["broken"])


@pytest.mark.parametrize(
    "devices, warning, expected",
    [
        (1, "", []),
        (0, "your CUDA device is not set properly", ["no-gpu"]),
        (0, "CUDA driver version is insufficient for CUDA runtime", ["gpu-driver"]),
    ],
)
def test_paddle_for_gpu(whole, devices, warning, expected):
    code = PADDLE.replace("False, 0", f"True, {devices}")
    code += f"\nimport os; os.write(2, {warning.encode()!r})"
    write(whole.site / "paddle" / "__init__.py", code)
    status, text = whole.doctor()
    assert (status, names(text)) == (int(expected == ["gpu-driver"]), expected)


def test_warnings_that_are_errors_have_one_cause(whole):
    code = "import warnings; warnings.warn('No ccache found')\n" + PADDLE
    write(whole.site / "paddle" / "__init__.py", code)
    assert names(whole.doctor(PYTHONWARNINGS="error")[1]) == ["warnings-error"]
    assert names(whole.doctor()[1]) == []


# Figures


def test_matplotlib_without_its_letters(whole):
    code = "def findfont(*a, **b):\n    raise ValueError('Failed to find font DejaVu Sans')"
    write(whole.site / "matplotlib" / "font_manager.py", code)
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["fonts"])


def test_matplotlib_without_a_folder(tmp_path, monkeypatch):
    """The real one: what it says differs from version to version."""
    write(tmp_path / "file", "")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "file" / "x"))
    seen = probe.Probe()
    seen.stages.update(probe._parse(probe._run(["matplotlib"])[0]))
    assert seen["matplotlib"].error == ""
    assert [finding.name for finding in imports.fonts(seen)] == ["font-cache"]


# Kernels


def test_kernels_as_jupyter_finds_them(whole, tmp_path):
    whole.borrow()
    for package in "jupyter_client", "jupyter_core", "ipykernel", "IPython":
        shutil.rmtree(whole.site / package)
    shutil.rmtree(whole.site / "matplotlib_inline")
    other = tmp_path / "other"
    venv.create(other, symlinks=True)
    spec = tmp_path / "jupyter" / "kernels" / "python3" / "kernel.json"
    for python, expected in (
        (other / "bin" / "python", ["kernel-other"]),
        (tmp_path / "nowhere", ["kernel-other"]),
        (whole.python, []),
        ("python", []),
    ):
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        kernel = {"argv": argv, "display_name": "Python 3", "language": "python"}
        write(spec, json.dumps(kernel))
        status, text = whole.doctor(JUPYTER_PATH=str(tmp_path / "jupyter"))
        assert (status, names(text)) == (len(expected), expected), text
        assert not expected or f"starts another Python: {python}\n" in text
        assert not expected or "python -m ipykernel install --user\n" in text


SPECS = "class KernelSpecManager:\n    get_all_specs = lambda self: {specs}"


def notebook(kernel):
    metadata = {"kernelspec": {"name": kernel}} if kernel else {}
    return json.dumps({"cells": [], "metadata": metadata})


def test_notebooks_that_ask_for_a_kernel_that_is_missing(whole):
    here = {"python3": {"spec": {"argv": ["python"]}, "resource_dir": ""}}
    code = SPECS.format(specs=here)
    write(whole.site / "jupyter_client" / "kernelspec.py", code)
    write(whole.notebooks / "a.ipynb", notebook("python3"))
    write(whole.notebooks / "b.ipynb", notebook(None))
    assert names(whole.doctor()[1]) == []
    write(whole.notebooks / "c.ipynb", notebook("py35-paddle1.2.0"))
    write(whole.notebooks / "d.ipynb", notebook("python3")[:-1] + "<<<<<<< ours")
    write(whole.notebooks / "e.ipynb", '{"metadata": {"kernelspec": null}}')
    write(whole.notebooks / "f.ipynb", notebook("python3").replace('"name"', '"named"'))
    odd = '{"metadata": {"kernelspec": {"name": ["python3"]}}}'
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["kernel-missing", "unreadable"])
    write(whole.notebooks / "g.ipynb", odd)
    status, more = whole.doctor()
    assert names(more) == ["kernel-missing", "unreadable", "unreadable"]
    assert "g.ipynb is not a notebook" in more
    assert (
        "c.ipynb asks for the kernel `py35-paddle1.2.0`" in text
        and "d.ipynb is" in text
    )


# Folders: root may write anywhere, but not below a file, nor into /proc


def test_folders_that_cannot_be_written_to(whole, tmp_path):
    write(tmp_path / "file", "")
    locked = tmp_path / "file" / "x"
    code = f"jupyter_runtime_dir = lambda: {str(locked)!r}"
    write(whole.site / "jupyter_core" / "paths.py", code)
    status, text = whole.doctor(IPYTHONDIR=str(locked))
    assert (status, names(text)) == (1, ["runtime", "ipython"])
    shutil.rmtree(whole.home)  # missing, but it can be made
    assert folders.writable(whole.home / "a" / "b") and not whole.home.exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
def test_a_home_folder_that_packages_cannot_write_to(whole):
    """It is no fault of theirs, and to install them anew would not help."""
    code = "import os; os.makedirs(os.path.expanduser('~/.cache/{}'))\n"
    write(whole.site / "paddle" / "__init__.py", code.format("paddle") + PADDLE)
    write(whole.site / "ipykernel" / "kernelapp.py", code.format("ipython"))
    status, text = whole.doctor(HOME="/proc")
    assert (status, names(text)) == (1, ["home", "ipython"]), text
    assert "The home folder, /proc, cannot be written to" in text
    assert whole.doctor()[0] == 0


NOBODY = "import os; os.environ.pop('HOME', None); os.getuid = lambda: 2**31 - 9"


def test_a_user_without_a_home(whole):
    """Such as a number that a container was told to run as."""
    for module in "matplotlib/__init__.py", "ipykernel/kernelapp.py":
        write(whole.site / module, "from pathlib import Path\nPath.home()")
    write(whole.site / "nobody.pth", NOBODY)
    status, text = whole.doctor()
    assert (status, names(text)) == (1, ["no-home"]), text
    assert "Set HOME to a folder of yours" in text


def test_a_locked_folder_of_notebooks():
    (finding,) = folders.notebooks([Path("/proc")])
    assert finding.name == "read-only" and not SENTENCES["read-only"].stops


def test_no_folder_for_temporary_files(monkeypatch, tmp_path):
    assert folders.temporary() == []
    write(tmp_path / "file", "")
    monkeypatch.setattr(tempfile, "tempdir", None)
    candidates = [str(tmp_path / "file" / "x")]
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: candidates)
    assert [finding.name for finding in folders.temporary()] == ["temporary"]


# Variables


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("MPLBACKEND", "Agg", "backend"),
        ("MPLBACKEND", "module://matplotlib_inline.backend_inline", None),
        ("PYTHONWARNINGS", "error", "warnings-error"),
        ("PYTHONWARNINGS", "default", "warnings"),
        ("PYTHONWARNINGS", "ignore", None),
        ("PYTHONOPTIMIZE", "1", "optimize"),
        ("OMP_NUM_THREADS", "4", "threads"),
        ("OMP_NUM_THREADS", "1", None),
        ("GLOG_v", "3", "log"),
        ("GLOG_v", "0", None),
        ("FLAGS_check_nan_inf", "1", "flags"),
    ],
)
def test_variables(whole, name, value, expected):
    status, text = whole.doctor(**{name: value})
    stops = expected is not None and SENTENCES[expected].stops
    assert (status, names(text)) == (int(stops), [expected] if expected else [])
    assert expected is None or name in text


# The machine


@pytest.mark.parametrize(
    "version, has_paddle, words",
    [
        ((3, 7), True, "python"),
        ((3, 8), True, None),
        ((3, 13), False, None),
        ((3, 14), False, "python"),
        ((3, 14), True, None),
    ],
)
def test_a_python_without_wheels(monkeypatch, version, has_paddle, words):
    monkeypatch.setattr(sys, "version_info", (*version, 1, "final", 0))
    monkeypatch.setattr(machine.sysconfig, "get_platform", lambda: "linux-x86_64")
    found = [finding.name for finding in machine.python(has_paddle)]
    assert found == ([words] if words else [])


@pytest.mark.parametrize(
    "platform, bits, fits",
    [
        ("linux-x86_64", 64, True),
        ("macosx-11.0-arm64", 64, True),
        ("win-amd64", 64, True),
        ("linux-aarch64", 64, False),
        ("macosx-10.9-x86_64", 64, False),
        ("win32", 32, False),
    ],
)
def test_a_platform_without_wheels(monkeypatch, platform, bits, fits):
    monkeypatch.setattr(sys, "version_info", (3, 11, 1, "final", 0))
    monkeypatch.setattr(sys, "maxsize", 2 ** (bits - 1) - 1)
    monkeypatch.setattr(machine.sysconfig, "get_platform", lambda: platform)
    assert [f.name for f in machine.python(False)] == ([] if fits else ["platform"])
    assert machine.python(True) == []


def test_a_processor_without_avx(monkeypatch, tmp_path):
    monkeypatch.setattr(machine.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    assert machine.avx() == []
    for flags, expected in (("fpu sse avx2", ["avx"]), ("fpu avx avx2", [])):
        write(
            tmp_path / "cpuinfo", f"processor\t: 0\nflags\t\t: {flags}\nbugs\t: none\n"
        )
        assert [finding.name for finding in machine.avx()] == expected


def test_too_little_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert machine.memory() == []
    write(tmp_path / "meminfo", f"MemFree: 1 kB\nMemAvailable:  {900 * 1024} kB\n")
    assert machine.memory()[0].values["free"] == 900
    write(tmp_path / "meminfo", f"MemAvailable:  {9000 * 1024} kB\n")
    assert machine.memory() == []
    write(tmp_path / "memory.max", f"{2000 * 2**20}\n")
    write(tmp_path / "memory.current", f"{1800 * 2**20}\n")
    write(tmp_path / "memory.stat", f"anon 7\ninactive_file {300 * 2**20}\n")
    assert machine.memory()[0].values["free"] == 500
    write(tmp_path / "memory.max", "max\n")
    assert machine.memory() == []


def test_too_little_disk(tmp_path):
    assert machine.disk(tmp_path, 1) == []
    (finding,) = machine.disk(tmp_path, 10**9)
    assert finding.name == "disk" and finding.values["needed"] == 10**9


# The page


def test_a_check_that_fails_is_not_the_end():
    def broken():
        raise LookupError("no such thing")

    (finding,) = doctor._isolated(lambda: broken())
    text = doctor.page([finding], [ROOT], chinese=False)
    assert "The check `broken` itself failed: LookupError: no such thing\n" in text


def test_it_speaks_chinese_where_the_locale_does(bare):
    status, text = bare.doctor(LANG="en_US.UTF-8", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")
    assert status == 1 and "[出错] 这个Python里没有安装PaddlePaddle。\n    -> " in text
    assert text.endswith("7条结果中有4条会使笔记本出错。\n")
    text = bare.doctor(LANG="zh_CN.UTF-8", PYTHONIOENCODING="ascii")[1]
    assert names(text)[0] == "no-paddle"


def test_both_languages_say_the_same_of_the_same():
    for name, (_, english, chinese) in SENTENCES.items():
        for one, other in zip(english, chinese):
            fields = [set(re.findall(r"\{(\w+)\}", text)) for text in (one, other)]
            assert fields[0] == fields[1], name
            assert re.search("[一-鿿]", other) or one == other, name


def test_every_sentence_is_found_by_a_check():
    code = "\n".join(p.read_text("utf-8") for p in SOURCES if p.stem != "sentences")
    assert not [name for name in SENTENCES if f'"{name}"' not in code]


def test_a_home_folder_is_not_spelled_out(bare):
    write(bare.home / "nb" / "paddle.py", "")
    bare.notebooks = bare.home / "nb"
    text = bare.doctor()[1]
    assert "~/nb/paddle.py hides" in text and str(bare.home) not in text


def test_where_notebooks_are_looked_for(tmp_path):
    write(tmp_path / "notebooks" / "a.ipynb", "")
    assert doctor.folders_of(tmp_path) == [tmp_path / "notebooks"]
    assert doctor.folders_of(tmp_path / "notebooks") == [tmp_path / "notebooks"]
    write(tmp_path / "b.ipynb", "")
    assert doctor.folders_of(tmp_path) == [tmp_path, tmp_path / "notebooks"]


# How it is started


@pytest.mark.parametrize(
    "path",
    [*SOURCES, ROOT / "d2l_ext" / "__init__.py", ROOT / "d2l_ext" / "_start.py"],
    ids=lambda path: path.name,
)
def test_python_3_8_can_read_it(path):
    ast.parse(path.read_text("utf-8"), feature_version=(3, 8))


def test_only_the_doctor_does_without_paddle(tmp_path):
    """A package of the user's own that is run with -m gets all of d2l_ext."""
    write(tmp_path / "mine" / "__init__.py", "from d2l_ext import MultiHeadAttention")
    write(tmp_path / "mine" / "doctor.py", "print(*__import__('d2l_ext').__all__)")
    environ = dict(os.environ, PYTHONPATH=str(ROOT))
    command = [sys.executable, "-m", "mine.doctor"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, check=False
    )
    assert b"PositionalEncoding" in done.stdout, done.stderr


def test_what_is_known_elsewhere_is_the_same_here():
    # make needs a newer Python than the notebooks do.
    assert machine.OLDEST == bundle_start.OLDEST < problems.OLDEST
    assert machine.NEWEST == problems.NEWEST["cpu"]
    assert machine.SETUP_MB == problems.NEED_MB["cpu"]
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'"{packages.PADDLE}"' in project and f'"d2l=={packages.D2L}"' in project
    probed = (ROOT / "d2l_ext" / "doctor" / "probed.py").read_text("utf-8")
    assert f'MARK = "{probe.MARK}"' in probed


# make doctor


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "check out"
    shutil.copytree(ROOT / "d2l_ext", folder / "d2l_ext")
    shutil.copytree(ROOT / "tools", folder / "tools")
    for name in "Makefile", "pyproject.toml":
        shutil.copy(ROOT / name, folder)
    return folder


def make_doctor(folder):
    base = {k: v for k, v in os.environ.items() if not UNWANTED.match(k)}
    environ = {k: v for k, v in base.items() if not k.startswith("MAKE")}
    done = subprocess.run(
        ["make", "doctor", f"PYTHON={sys.executable}"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("state", ["missing", "without Python", "unfinished", "a file"])
def test_make_doctor_without_an_environment(checkout, state):
    venv_folder = checkout / ".venv"
    if state == "without Python":
        (venv_folder / "bin").mkdir(parents=True)
        (venv_folder / "bin" / "python").symlink_to(checkout / "nowhere")
    elif state == "unfinished":
        venv.create(venv_folder, symlinks=True)
        write(venv_folder / "made-by-make.json", '{"base": "x", "flavour": "cpu"}')
    elif state == "a file":
        write(venv_folder, "")
    status, text = make_doctor(checkout)
    assert status == 2 and names(text) == ["no-venv"] and "-> make setup\n" in text
    # What stands behind it depends on whether make has made the Python of this test.
    last = text.splitlines()[-1]
    assert last.startswith("Findings that stop a notebook: 1 of 1.")


def test_make_doctor_in_an_environment_whose_packages_are_gone(checkout):
    venv.create(checkout / ".venv", symlinks=True)
    write(checkout / ".venv" / "made-by-make.json", '{"locks": "x"}')
    status, text = make_doctor(checkout)
    assert status == 2 and names(text)[0] == "no-paddle"
    assert text.endswith("Or start over: make clean setup\n")
