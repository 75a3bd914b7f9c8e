"""10.6e, beside the book: its pairs of cells, its table, and its numbers a second way.

What the table says of Paddle is tested here on whatever version is installed, with
PyTorch or without. What needs PyTorch is skipped where it is missing.
"""

import base64
import re
import subprocess
import sys
import warnings

import matplotlib
import nbformat
import numpy as np
import paddle
import pytest

import d2l_ext
import needs
from tests import reference
from tests.gate import pictures
from tests.notebooks import FOLDER, Notebook

matplotlib.use("Agg")
NAME = "10-6e-pytorch-beside-paddle.ipynb"
NOTEBOOK = Notebook(NAME)
CELLS, printed = NOTEBOOK.cells, NOTEBOOK.printed
ORDER = list(CELLS)
PAIRS = ["imports", "attention", "shape", "encoding", "curves", "binary", "heatmap"]
VERSION = tuple(map(int, paddle.__version__.split(".")[:3]))


@pytest.fixture(autouse=True)
def on_cpu():
    """Its first cell says so."""
    assert "paddle.set_device('cpu')" in NOTEBOOK.source("imports-paddle")
    before = paddle.get_device()
    paddle.set_device("cpu")
    yield
    paddle.set_device(before)


def names(*cells, **more):
    """What the cells define, after the imports."""
    import math

    import torch

    found = {"d2l": d2l_ext, "math": math, "np": np, "paddle": paddle, "torch": torch}
    found.update({"warnings": warnings, **more})
    for cell in cells:
        exec(NOTEBOOK.source(cell), found)
    return found


def test_headings_and_equation():
    assert NOTEBOOK.headings() == [
        "# 10.6e PyTorch与飞桨对照",
        "## 自注意力",
        "## 位置编码",
        "### 绝对位置信息",
        "## 参数的搬运",
        "## 差别一览",
        "## 小结",
        "## 练习",
        "### 练习1：搬运合在一起的参数",
        "### 练习2：由有效长度得到掩码",
        "## 参考文献",
    ]
    order = NOTEBOOK.places("# 10.6e ", r"\tag{10.6e.1}", "## 参考文献")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2, 3}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_neighbours_are_linked():
    links = re.findall(r"\]\((10-[^)]+)\)", NOTEBOOK.prose)
    assert links == ["10-6d-positions.ipynb", "10-6f-look-inside.ipynb"]
    for link in filter(lambda link: (FOLDER / link).is_file(), links):
        assert Notebook(link).prose.count(f"]({NAME})") == 1


def test_the_gate_and_make_know_that_it_needs_pytorch(monkeypatch):
    notebook = nbformat.read(FOLDER / NAME, as_version=4)
    monkeypatch.setattr(needs.importlib.util, "find_spec", lambda name: None)
    assert needs.missing(notebook) == ["PyTorch"]


def test_without_pytorch_the_first_cell_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError) as raised:
        exec(NOTEBOOK.source("imports-torch"), {})
    assert raised.value.__suppress_context__ and type(raised.value) is ImportError
    text = str(raised.value)
    for words in "make torch", "https://download.pytorch.org/whl/cpu，", "保存的输出":
        assert words in text


# The pairs


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_stand_side_by_side_and_are_checked(name):
    start = ORDER.index(f"{name}-torch")
    ids = [f"{name}-{part}" for part in ("torch", "paddle", "check-text", "check")]
    following = [i for i in ORDER[start : start + 5] if i != f"{name}-result"]
    assert following[:4] == ids
    assert [CELLS[i].cell_type for i in ids] == ["code", "code", "markdown", "code"]
    assert "**检验：" in CELLS[f"{name}-check-text"].source
    for cell, other in zip(ids, ("paddle", "torch")):
        assert not re.search(rf"(?<!py)\b{other}\.", CELLS[cell].source)


def test_paddle_s_cells_are_those_of_the_section():
    """The same lines as in 10.6, but for what the text says."""
    section = Notebook("10-6-self-attention-and-positional-encoding.ipynb")
    code = "\n".join(cell.source for cell in section.code)
    for name in "attention", "curves", "heatmap":
        assert NOTEBOOK.source(f"{name}-paddle") in code
    for line in (
        "list(attention(X, X, X, valid_lens).shape)",
        "paddle.to_tensor([3, 2])",
    ):
        assert line in code and line in NOTEBOOK.source("shape-paddle")


def test_checks_that_are_shown_came_out_as_claimed():
    counts = {"imports-check": 1, "attention-check": 4, "shape-check": 2}
    counts |= {"encoding-check": 3, "curves-check": 2, "binary-check": 2}
    counts |= {"heatmap-check": 1, "carry-trap": 1, "carry-others": 1, "round-trip": 1}
    counts["exercise-2-try"] = 1
    for cell, count in counts.items():
        assert printed(cell).count("True") == count, cell
        negative = "与原来的相等：False，" if cell == "attention-check" else "不可能"
        assert printed(cell).count("False") == printed(cell).count(negative), cell


def test_binary_numbers():
    expected = "".join(f"{i}的二进制是：{i:03b}\n" for i in range(8))
    assert printed("binary-torch") == printed("binary-paddle") == expected


def result(cell):
    (output,) = CELLS[cell].outputs
    return output.data["text/plain"]


def test_shapes():
    assert result("shape-torch") == f"torch.Size({result('shape-paddle')})"
    assert result("shape-paddle") == str([2, 4, 100])
    assert printed("heatmap-check").startswith("形状： [1, 1, 60, 32] [1, 1, 60, 32]\n")
    assert "[2, 4, 5]" in printed("carry-others")


@pytest.mark.parametrize("name", ["curves", "heatmap"])
def test_both_draw_the_same_picture(name):
    found = []
    for framework in "torch", "paddle":
        (output,) = CELLS[f"{name}-{framework}"].outputs
        png = base64.b64decode(output.data["image/png"])
        pixels, _ = pictures.read(png)
        assert (pixels != pictures.WHITE).any()
        found.append(png)
    assert pictures.difference(*found) is None


def test_single_precision_is_too_coarse_for_late_positions():
    exact = reference.positional_encoding(1000, 32)[:, 0::2]
    i = np.arange(1000, dtype="float32")[:, None]
    base = np.float32(10000) ** (np.arange(0, 32, 2, dtype="float32") / np.float32(32))
    error = np.abs(np.sin(i / base) - exact).max(axis=1)
    assert error.max() > 5e-6 and error[:5].max() < 1e-6
    assert error[500:].max() > error[:100].max()


def test_error_that_is_shown():
    def weight(*shape):
        return np.zeros(shape, "float32")

    layer = d2l_ext.MultiHeadAttention(100, 100, 100, 100, 5, 0.5)
    keys = ("W_k.weight", "W_v.weight", "W_x.weight")
    state = {key: weight(100, 100) for key in keys}
    with pytest.raises(ValueError) as raised:
        layer.from_torch({**state, "W_o.weight": weight(7, 100)})
    assert printed("carry-error") == str(raised.value).replace("; ", ";\n") + "\n"


def test_number_of_tensors_that_are_compared():
    layer = d2l_ext.MultiHeadAttention(11, 6, 13, 10, 5, 0, bias=True)
    count = 1 + 3 + len(layer.parameters())
    assert count == 12 and "8个参数（4个权重和4个偏置）" in NOTEBOOK.prose
    assert printed("gradient-check").splitlines() == [
        f"{way}，{dtype}：{count}个张量都相差小于{limit}"
        for dtype, limit in [("float32", 1e-6), ("float64", 1e-12)]
        for way in ("PyTorch到飞桨", "飞桨到PyTorch")
    ]


def test_masked_weights():
    """The same number of keys are left in both, and share alike."""
    for text, left in [("PyTorch的", [1, 2, 3]), ("飞桨的", [0])]:
        row = [round(1 / len(left), 4) if i in left else 0.0 for i in range(4)]
        assert f"{text}权重： {row}\n" in printed("verify-masks")


# PyTorch's side, by itself


@pytest.mark.parametrize("lens", [None, [3, 2]])
def test_attention_in_pytorch_gives_the_formula(torch, lens):
    cls = names("torch-parts", "torch-attention")["TorchMultiHeadAttention"]
    module = cls(7, 5, 11, 6, 3, 0.5).double().eval()
    rng = np.random.default_rng(0)
    Q, K, V = (rng.standard_normal((2, *s)) for s in [(3, 5), (4, 7), (4, 11)])
    weights = {key: w.numpy().T for key, w in module.state_dict().items()}
    matrices = [weights[f"{key}.weight"] for key in ("W_q", "W_k", "W_v", "W_o")]
    expected, _ = reference.multi_head_attention(Q, K, V, lens, *matrices, 3)
    tensors = [torch.tensor(a) for a in (Q, K, V)]
    found = module(*tensors, None if lens is None else torch.tensor(lens))
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell, name", [("torch", "Torch"), ("paddle", "")])
def test_encodings_give_the_formula(torch, cell, name):
    cls = names(f"encoding-{cell}")[f"{name}PositionalEncoding"]
    layer = cls(14, 0, max_len=1000)
    expected = reference.positional_encoding(1000, 14)
    np.testing.assert_allclose(layer.P[0].numpy(), expected, rtol=0, atol=6e-8)
    X = np.random.default_rng(0).standard_normal((2, 5, 14)).astype("float32")
    found = layer((torch.tensor if name else paddle.to_tensor)(X)).numpy()
    np.testing.assert_allclose(found, X + expected[:5], rtol=0, atol=1e-6)
    assert list(layer.state_dict()) == []


# The table


def table():
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", CELLS["table"].source, re.M)
    return [row for row in rows if not row.startswith((" ", ":"))]


def test_every_row_is_checked_and_every_check_has_a_row():
    ids = [c.id for c in NOTEBOOK.code if c.id.startswith("verify-")]
    output = "".join(map(printed, ids))
    checked = re.findall(r"^(.*)：与表中一致$", output, re.MULTILINE)
    assert len(checked) == 24 and checked == table()


def test_a_wrong_claim_is_not_passed_over(torch, capsys):
    given = names("verify")
    given["verify"]("形状", True, True)
    assert capsys.readouterr().out == "形状：与表中一致\n"
    with pytest.raises(AssertionError, match="形状"):
        given["verify"]("形状", True, False)
    assert given["fails"](lambda: 1 / 0) and not given["fails"](lambda: 1)


X = np.arange(24, dtype="float32").reshape((2, 3, 4))


def works(f):
    try:
        f(paddle.to_tensor(X))
    except (TypeError, ValueError, AttributeError):
        return False
    return True


OF_PYTORCH = {
    "reshape": lambda X: X.reshape(6, 4),
    "dim of sum": lambda X: X.sum(dim=1),
    "dim of softmax": lambda X: paddle.nn.functional.softmax(X, dim=1),
    "permute": lambda X: X.permute(0, 2, 1),
    "transpose": lambda X: X.transpose(1, 2),
}


@pytest.mark.parametrize("name", OF_PYTORCH)
def test_what_is_said_of_paddle_s_versions(name):
    """2.6.2 and 3.0.0 refuse, 3.2.2 and 3.3.1 accept; in between nothing is said."""
    if VERSION < (3, 1):
        assert not works(OF_PYTORCH[name])
    elif VERSION >= (3, 2, 2):
        assert works(OF_PYTORCH[name])
    text = CELLS["table"].source
    assert "2.6和3.0不认`dim`" in text and "分开写的整数，2.6和3.0不认" in text
    assert "3.2.2和3.3.1还接受" in text


def test_shape_s_type_in_paddle():
    kind = type(paddle.to_tensor(X).shape)
    assert (kind is list) == (VERSION < (3, 3))
    assert kind.__name__ in ("list", "Size")
    assert list(paddle.to_tensor(X).shape) == [2, 3, 4]


def test_integers_and_floats_in_paddle():
    """2.6 drops the fraction without a word; since 3.0 it is an error."""
    integers, floats = paddle.to_tensor([1, 2]), paddle.to_tensor([0.5, 0.25])
    if VERSION < (3, 0):
        total = integers + floats
        assert (total.tolist(), total.dtype) == ([1, 2], paddle.int64)
    else:
        with pytest.raises(TypeError):
            integers + floats
    assert (integers.astype("float32") + floats).tolist() == [1.5, 2.25]


def test_paddle_s_other_rows():
    tensor = paddle.to_tensor(X)
    assert (tensor.T.numpy() == X.T).all() and list(tensor.T.shape) == [4, 3, 2]
    assert (tensor.transpose((0, 2, 1)).numpy() == X.transpose(0, 2, 1)).all()
    with pytest.raises(ValueError, match="must be Tensor"):
        paddle.pow(10000.0, tensor)
    powers = 10000.0 ** paddle.to_tensor([0.5, 0.25])
    np.testing.assert_allclose(powers.numpy(), [100, 10], rtol=1e-6)
    assert tensor.stop_gradient and not paddle.nn.Linear(2, 3).weight.stop_gradient
    assert list(paddle.nn.Linear(2, 3).weight.shape) == [2, 3]


def test_pytorch_s_deprecated_transpose(torch):
    """It warns once in a process, and is to become an error."""
    code = """
import warnings, torch
warnings.simplefilter("error")
torch.ones(2, 3).T
try:
    torch.ones(2, 3, 4).T
except Exception as error:
    print(error)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ".T" in done.stdout and "dimension" in done.stdout
    assert "三维以上已弃用" in CELLS["table"].source


def test_the_trap_is_one_in_paddle():
    """A square weight that lies the wrong way round is taken without a word."""
    layer = d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0)
    state = {key: w.numpy().T for key, w in layer.state_dict().items()}
    missing, unexpected = layer.set_state_dict(state)
    assert list(missing) == list(unexpected) == []
    line = f"缺少的： {missing} 多余的： {unexpected}\n"
    assert printed("carry-trap").startswith(line)


# The exercises


def given():
    found = names("imports-check", "gradient-leaves")
    found["valid_lens"] = paddle.to_tensor([3, 2])
    return found


ONE_BY_ONE = """state, d = {}, module.embed_dim
for i, name in enumerate(['W_q', 'W_k', 'W_v']):
    part = slice(i * d, (i + 1) * d)
    state[name + '.weight'] = module.in_proj_weight[part]
    state[name + '.bias'] = module.in_proj_bias.detach().numpy()[part]
for kind in ('weight', 'bias'):
    state['W_o.' + kind] = getattr(module.out_proj, kind)
return state"""

WITHOUT_NUMPY = """lens = torch.tensor(valid_lens).unsqueeze(1)
padding = torch.arange(num_keys) >= lens
valid = paddle.to_tensor((~padding).tolist())
return padding, valid.unsqueeze(1).unsqueeze(1)"""


def test_own_answers_pass(torch, capsys):
    first = NOTEBOOK.exercise(1, given())
    NOTEBOOK.exercise(1, given(), ONE_BY_ONE)
    NOTEBOOK.exercise(2, first)
    NOTEBOOK.exercise(2, first, WITHOUT_NUMPY)
    assert capsys.readouterr().out.count("检查通过") == 4


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("['W_q', 'W_k', 'W_v']", "['W_k', 'W_q', 'W_v']"),
        ("['W_q', 'W_k', 'W_v']", "['W_q', 'W_v', 'W_k']"),
        ("module.in_proj_weight[part]", "module.in_proj_weight[part].T"),
        ("module.in_proj_bias.detach().numpy()[part]", "torch.zeros(d)"),
        ("getattr(module.out_proj, kind)", "getattr(module.out_proj, kind).T"),
    ],
)
def test_wrong_answers_to_exercise_1_fail(torch, right, wrong):
    assert ONE_BY_ONE.count(right) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .T of a vector
        with pytest.raises(AssertionError):
            NOTEBOOK.exercise(1, given(), ONE_BY_ONE.replace(right, wrong))


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("return padding", "return ~padding"),
        ("(~padding)", "padding"),
        (">= lens", "> lens"),
        (">= lens", ">= lens - 1"),
        ("return padding", "return padding[:, None]"),
        ("valid.unsqueeze(1).unsqueeze(1)", "valid"),
    ],
)
def test_wrong_answers_to_exercise_2_fail(torch, right, wrong):
    assert WITHOUT_NUMPY.count(right) == 1
    first = NOTEBOOK.exercise(1, given())
    with pytest.raises(AssertionError):
        NOTEBOOK.exercise(2, first, WITHOUT_NUMPY.replace(right, wrong))
