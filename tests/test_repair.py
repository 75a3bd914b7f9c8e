import importlib
import shutil
import subprocess
import sys
import types
import warnings

import matplotlib
import paddle
import pytest

import d2l_ext
from tests.kernel import pictures, run_cells, texts

matplotlib.use("Agg")


@pytest.fixture
def d2l():
    return d2l_ext.patch_d2l()


class TestPatch:
    def test_returns_the_installed_module_with_the_names_replaced(self, d2l):
        assert d2l is importlib.import_module("d2l.paddle")
        for name in ("MultiHeadAttention", "PositionalEncoding", "plot"):
            assert getattr(d2l, name) is getattr(d2l_ext, name)

    def test_calling_it_twice_is_harmless(self, d2l):
        before = dict(vars(d2l))
        assert d2l_ext.patch_d2l() is d2l
        assert dict(vars(d2l)) == before

    def test_d2l_s_own_classes_use_the_replacements(self, d2l):
        block = d2l.EncoderBlock(24, 24, 24, 24, [24], 24, 48, 8, 0.5)
        assert type(block.attention) is d2l_ext.MultiHeadAttention

    def test_a_module_that_was_reloaded_is_repaired_again(self, d2l):
        with warnings.catch_warnings():
            importlib.reload(d2l)
            assert d2l.plot is not d2l_ext.plot
            d2l_ext.patch_d2l()
        assert d2l.plot is d2l_ext.plot

    def test_tensors_can_be_drawn_by_matplotlib_itself(self, d2l):
        x = paddle.arange(3)
        (line,) = d2l.plt.figure().gca().plot(x, x * 2, "o")
        assert line.get_xydata().tolist() == [[0, 0], [1, 2], [2, 4]]
        d2l.plt.close("all")


def run(code, cwd, *flags):
    """Run code in a process of its own; return what it printed, with its errors."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", "import d2l_ext, warnings\n" + code],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


class TestWarnings:
    """d2l switches all warnings off when it is imported."""

    SHOUT = "warnings.warn('shouted')\n"

    @pytest.mark.parametrize("first", ["", "from d2l import paddle as d2l\n"])
    def test_they_are_switched_on_again(self, first, tmp_path):
        output = run(first + "d2l_ext.patch_d2l()\n" + self.SHOUT, tmp_path)
        assert "UserWarning: shouted" in output

    def test_they_stay_off_where_the_user_switched_them_off(self, tmp_path):
        off = "warnings.filterwarnings('ignore')\n"
        patch = "d2l_ext.patch_d2l()\n"
        for code in (off + patch, patch + off + patch):
            assert run(code + self.SHOUT, tmp_path) == ""
        for code in (patch, "from d2l import paddle\n" + patch):
            assert run(code + self.SHOUT, tmp_path, "-W", "ignore") == ""

    def test_what_paddle_3_2_says_of_its_own_functions_stays_off(self, tmp_path):
        """The first call of each; other versions say nothing anyway."""
        calls = "x = d2l_ext.masked_softmax.__globals__['paddle'].ones([2])\n"
        calls += "x.max(), x.min(), x.sort()\n"
        said = "warnings.warn('\\nNon compatible API. Please refer to …')\n"
        assert run("d2l_ext.patch_d2l()\n" + calls + said, tmp_path) == ""


class TestUnknownD2l:
    """Each d2l that is not the one expected gets a sentence."""

    def pretend(self, monkeypatch, version, **names):
        package, module = types.ModuleType("d2l"), types.ModuleType("d2l.paddle")
        package.__version__ = version
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, "d2l", package)
        monkeypatch.setitem(sys.modules, "d2l.paddle", module)
        return module

    def test_other_version_with_the_same_functions_is_patched_and_said(
        self, d2l, tmp_path
    ):
        (tmp_path / "d2l").mkdir()
        (tmp_path / "d2l" / "__init__.py").write_text("__version__ = '0.17.7'\n")
        shutil.copy(d2l.__file__, tmp_path / "d2l" / "paddle.py")
        code = "print(d2l_ext.patch_d2l().plot is d2l_ext.plot)"
        for first in ("", "from d2l import paddle as d2l\n"):
            output = run(first + code, tmp_path)
            assert "made for d2l 0.17.6 and found 0.17.7: patched, but" in output
            assert output.endswith("True\n")

    def test_missing_function_is_named_and_nothing_changed(self, d2l, monkeypatch):
        names = {k: v for k, v in vars(d2l).items() if k != "sequence_mask"}
        module = self.pretend(monkeypatch, "2.0.0", **names)
        before = dict(vars(module))
        with pytest.raises(
            RuntimeError, match="is d2l 2.0.0 .*sequence_mask is missing"
        ):
            d2l_ext.patch_d2l()
        assert dict(vars(module)) == before

    def test_other_arguments_are_named(self, d2l, monkeypatch):
        names = {**vars(d2l), "plot": lambda figure: figure}
        self.pretend(monkeypatch, "2.0.0", **names)
        with pytest.raises(RuntimeError, match="plot takes other arguments"):
            d2l_ext.patch_d2l()

    def import_from(self, monkeypatch, folder):
        """Forget d2l, and find only what is in ``folder``."""
        for name in [n for n in sys.modules if n.split(".")[0] == "d2l"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "path", [str(folder)])
        importlib.invalidate_caches()

    def test_not_installed(self, d2l, monkeypatch, tmp_path):
        self.import_from(monkeypatch, tmp_path)
        message = "d2l is not installed: pip install --no-deps d2l==0.17.6"
        with pytest.raises(ImportError, match=message):
            d2l_ext.patch_d2l()

    def test_what_d2l_needs_is_named(self, tmp_path):
        code = (
            "import sys\nsys.modules['pandas'] = None\n"
            "try: d2l_ext.patch_d2l()\nexcept ImportError as error: print(error)"
        )
        message = "d2l needs pandas, which is not installed: install it with pip\n"
        assert run(code, tmp_path) == message

    def test_what_the_package_itself_needs_is_named(self, monkeypatch, tmp_path):
        (tmp_path / "d2l").mkdir()
        (tmp_path / "d2l" / "__init__.py").write_text("import needed_by_d2l\n")
        self.import_from(monkeypatch, tmp_path)
        with pytest.raises(ModuleNotFoundError, match="needed_by_d2l") as caught:
            d2l_ext.patch_d2l()
        assert caught.value.name == "needed_by_d2l"

    def test_release_without_paddle(self, d2l, monkeypatch, tmp_path):
        (tmp_path / "d2l").mkdir()
        (tmp_path / "d2l" / "__init__.py").write_text("__version__ = '1.0.3'\n")
        self.import_from(monkeypatch, tmp_path)
        with pytest.raises(ImportError, match="d2l 1.0.3 has no d2l.paddle: pip"):
            d2l_ext.patch_d2l()

    @pytest.mark.parametrize("name", ["d2l/__init__.py", "d2l.py", "d2l/notes.txt"])
    def test_file_or_folder_that_hides_it(self, name, d2l, monkeypatch, tmp_path):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
        self.import_from(monkeypatch, tmp_path)
        with pytest.raises(ImportError, match=f"{tmp_path}.* hides the .* d2l: rename"):
            d2l_ext.patch_d2l()


def test_cells_of_section_10_6_run_as_typed():
    outputs = run_cells(
        "import d2l_ext\nd2l_ext.patch_d2l()",
        "import math\nimport paddle\nfrom paddle import nn\n"
        "from d2l import paddle as d2l",
        "num_hiddens, num_heads = 100, 5\n"
        "attention = d2l.MultiHeadAttention(num_hiddens, num_hiddens, num_hiddens,\n"
        "                                   num_hiddens, num_heads, 0.5)\n"
        "attention.eval()",
        "batch_size, num_queries, valid_lens = 2, 4, paddle.to_tensor([3, 2])\n"
        "X = paddle.ones((batch_size, num_queries, num_hiddens))\n"
        "attention(X, X, X, valid_lens).shape",
        "encoding_dim, num_steps = 32, 60\n"
        "pos_encoding = d2l.PositionalEncoding(encoding_dim, 0)\n"
        "pos_encoding.eval()\n"
        "X = pos_encoding(paddle.zeros((1, num_steps, encoding_dim)))\n"
        "P = pos_encoding.P[:, :X.shape[1], :]\n"
        "d2l.plot(paddle.arange(num_steps), P[0, :, 6:10].T, figsize=(6, 2.5),\n"
        "         xlabel='Row (position)',\n"
        "         legend=['Col %d' % d for d in paddle.arange(6, 10)])",
        "P = P[0, :, :].unsqueeze(0).unsqueeze(0)\n"
        "d2l.show_heatmaps(P, xlabel='Column (encoding dimension)',\n"
        "                  ylabel='Row (position)', figsize=(3.5, 4), cmap='Blues')",
    )
    assert outputs[0] == []  # the path of the module is no reader's business
    assert "[2, 4, 100]" in texts(outputs[3])[0]
    assert [len(pictures(o)) for o in outputs] == [0, 0, 0, 0, 1, 1]
    assert [len(o) for o in outputs[4:]] == [1, 1]
    streams = [o for cell in outputs for o in cell if o.output_type == "stream"]
    assert streams == []  # no warning, nothing logged
