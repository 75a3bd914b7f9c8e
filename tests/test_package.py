"""Importing the package: what it brings along, and what it says when it cannot."""

import logging
import subprocess
import sys

import pytest

import d2l_ext


def run_python(code, cwd, *flags):
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_is_quiet_and_leaves_heavy_modules_alone(tmp_path):
    heavy = {"d2l", "matplotlib", "pandas", "IPython", "ipywidgets", "torch"}
    code = f"import d2l_ext, sys; print(sorted({heavy} & set(sys.modules)))"
    done = run_python(code, tmp_path, "-W", "default")
    assert (done.returncode, done.stdout) == (0, "[]\n")
    assert "ccache" not in done.stderr and "d2l_ext" not in done.stderr


def test_import_adds_little_to_that_of_paddle(tmp_path):
    """No timing: it names what must not be loaded beyond what Paddle loads."""
    code = (
        "import paddle, sys; before = set(sys.modules); import d2l_ext\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = run_python(code, tmp_path).stdout.split()
    heavy = {"d2l", "matplotlib", "pandas", "IPython", "requests", "PIL", "nbformat"}
    assert "d2l_ext.attention" in loaded
    assert not heavy & {name.partition(".")[0] for name in loaded}
    later = {"_torch", "alibi", "diagrams", "figures", "interactive", "progress"}
    later |= {"doctor", "repair", "repairs", "rotary", "translation"}
    assert not {f"d2l_ext.{name}" for name in later} & set(loaded)


LATER = (
    "d2l_ext.explore",
    "d2l_ext.plot",
    "d2l_ext.ALiBi",
    "d2l_ext.RotaryEncoding",
    "d2l_ext.patch_d2l()",
    "d2l_ext.figures.plot",
    "d2l_ext.diagrams.transformer",
    "d2l_ext.translation.score",
)


@pytest.mark.parametrize("used", LATER)
def test_what_is_loaded_later_is_there_when_it_is_used(used, tmp_path):
    done = run_python(f"import d2l_ext; print({used})", tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_what_is_loaded_later_can_be_imported_by_name(tmp_path):
    code = (
        "from d2l_ext import diagrams, patch_d2l, plot, translation\n"
        "from d2l_ext import *\n"
        "import d2l_ext\n"
        "print(show_heatmaps is d2l_ext.figures.show_heatmaps, plot is d2l_ext.plot)"
    )
    done = run_python(code, tmp_path)
    assert done.stdout == "True True\n", done.stderr


def test_a_name_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(AttributeError, match="'d2l_ext' has no attribute 'plots'"):
        d2l_ext.plots  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'plots'"):
        exec("from d2l_ext import plots")


def test_import_leaves_the_logging_of_the_process_alone(tmp_path):
    code = (
        "import d2l_ext, logging\n"
        "print(logging.getLogger().handlers, logging.getLogger().level)\n"
        "logging.getLogger('matplotlib').info('fonts listed')"
    )
    done = run_python(code, tmp_path)
    assert (done.stdout, done.stderr) == (f"[] {logging.WARNING}\n", "")


def test_every_public_name_is_there():
    assert set(d2l_ext.__all__) <= set(dir(d2l_ext))
    for name in d2l_ext.__all__:
        documented = getattr(d2l_ext, name).__doc__
        assert documented, name


def test_figures_work_in_a_plain_script_and_print_nothing(tmp_path):
    code = (
        "import d2l_ext, matplotlib\n"
        "matplotlib.use('Agg')\n"
        "d2l_ext.plot([1, 2]).figure.savefig('curve.png')\n"
        "d2l_ext.show_heatmaps([[1, 2]], 'Keys', 'Queries')[0, 0].figure.savefig('map.png')"
    )
    done = run_python(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "curve.png").stat().st_size > 5000
    assert (tmp_path / "map.png").stat().st_size > 5000


@pytest.mark.parametrize("content", ["", "import paddle; paddle.seed(1)", "nn = (("])
@pytest.mark.parametrize("name", ["paddle.py", "paddle/__init__.py"])
def test_file_or_folder_that_hides_paddle_is_named(name, content, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    done = run_python("import d2l_ext", tmp_path)
    assert done.returncode == 1
    message = f"{tmp_path / name} hides the installed PaddlePaddle: rename it"
    assert message in done.stderr.splitlines()[-1]


def test_missing_paddle_gets_a_sentence(tmp_path):
    hide = (
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name: find(name) if name != 'paddle' else None\n"
    )
    done = run_python(hide + "import d2l_ext", tmp_path)
    assert done.returncode == 1
    message = "d2l_ext needs PaddlePaddle, which is not installed: pip install"
    assert message in done.stderr.splitlines()[-1]
