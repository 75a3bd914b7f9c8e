"""Each repair of d2l outside chapter 10: the right value, by hand or by NumPy.

Where a repair is not needed, the same tests hold for d2l's own function. A test that is
called test_<name>… fails where the repair <name> is needed and taken away.
"""

import hashlib
import http.server
import math
import os
import re
import socket
import subprocess
import sys
import threading

import matplotlib
import numpy as np
import paddle
import pytest
from paddle import nn

import d2l_ext
from d2l_ext.repairs import REPAIRS, chapter_10, data, translation

matplotlib.use("Agg")


@pytest.fixture
def d2l():
    module = d2l_ext.patch_d2l()
    yield module
    module.plt.close("all")


def close(actual, expected, rtol=1e-6, atol=1e-7):
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=rtol, atol=atol)


def points(axes):
    return [line.get_xydata().tolist() for line in axes.lines]


def in_new_process(code, cwd, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_repair_has_a_test():
    def letters(name):
        return re.sub(r"[\W_]", "", name).lower()

    tests = [letters(name) for name in globals()]
    for repair in set(REPAIRS) - set(chapter_10.REPAIRS):
        name = letters(f"test_{repair.name}")
        assert any(test.startswith(name) for test in tests), repair.name


# The process ------------------------------------------------------------------------


def test_warnings_are_on_after_the_import(tmp_path):
    code = "import warnings, d2l_ext; d2l_ext.patch_d2l(); print(warnings.filters)"
    assert "('ignore', None, <class 'Warning'>" not in in_new_process(code, tmp_path)


def test_random_numbers_of_the_process_are_left_alone(tmp_path):
    code = (
        "import random, d2l_ext; random.seed(3); d2l_ext.patch_d2l()\n"
        "number = random.random(); random.seed(3); print(number == random.random())"
    )
    assert in_new_process(code, tmp_path) == "True\n"


def test_copy_copy_tensor_draws_a_list_of_tensors(d2l):
    x = [paddle.to_tensor([1.0]), paddle.to_tensor([2.0])]
    axes = d2l.plt.figure().gca()
    axes.plot(paddle.arange(2), x)
    assert points(axes) == [[[0, 1], [1, 2]]]


# Data -------------------------------------------------------------------------------


def test_get_dataloader_workers_reads_in_this_process(d2l):
    assert d2l.get_dataloader_workers() == 0


@pytest.fixture
def server(d2l, tmp_path, monkeypatch):
    """Serves what is in ``files``; the data hub has the name "data" for data.txt."""
    files = {"/data.txt": b"one two"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(b"<html>no such file" if body is None else body)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{running.server_port}/data.txt"
        sha1 = hashlib.sha1(b"one two").hexdigest()
        monkeypatch.setitem(d2l.DATA_HUB, "data", (url, sha1))
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield files
        running.shutdown()


def test_download_keeps_the_file_and_does_not_load_it_again(d2l, server, tmp_path):
    path = d2l.download("data", str(tmp_path / "new"))
    assert (tmp_path / "new" / "data.txt").read_bytes() == b"one two"
    server.clear()
    assert d2l.download("data", str(tmp_path / "new")) == path


@pytest.mark.parametrize("body", [None, b"one", b"<html>sign in"])
@pytest.mark.parametrize("before", [None, b"older"])
def test_download_of_something_else_leaves_the_folder(
    body, before, d2l, server, tmp_path
):
    server["/data.txt"] = body
    if before:
        (tmp_path / "data.txt").write_bytes(before)
    error = d2l.requests.HTTPError if body is None else ValueError
    with pytest.raises(error, match="404" if body is None else "SHA-1 must be"):
        d2l.download("data", str(tmp_path))
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == ({"data.txt": before} if before else {})


def test_download_does_not_wait_for_ever(d2l, server, tmp_path, monkeypatch):
    assert data.PATIENCE == 60
    monkeypatch.setattr(data, "PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/data.txt"
        monkeypatch.setitem(d2l.DATA_HUB, "data", (url, "12ab" * 10))
        with pytest.raises(d2l.requests.Timeout):
            d2l.download("data", str(tmp_path))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("sha1", ["12ab" * 13, None])
def test_download_does_not_compare_what_is_no_sum(sha1, d2l, server, tmp_path):
    # The sums in the book's cell for BERT are too long to be one.
    d2l.DATA_HUB["data"] = (d2l.DATA_HUB["data"][0], sha1)
    with open(d2l.download("data", str(tmp_path))) as file:
        assert file.read() == "one two"


def test_download_of_an_unknown_name(d2l, tmp_path):
    with pytest.raises((ValueError, AssertionError), match="nothing"):
        d2l.download("nothing", str(tmp_path))


def test_open_reads_texts_as_utf_8(tmp_path):
    (tmp_path / "labels.csv").write_bytes("id,label\n1,猫\n".encode())
    code = (
        "import d2l_ext; d2l = d2l_ext.patch_d2l()\n"
        "print(ascii(d2l.read_csv_labels('labels.csv')))\n"
        "print(d2l.open('labels.csv', 'rb').read()[-4:])"
    )
    ascii_system = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    output = in_new_process(code, tmp_path, **ascii_system)
    assert output == "{'1': '\\u732b'}\nb'\\xe7\\x8c\\xab\\n'\n"


def save_image(path, color, size=(7, 5)):
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path)


def test_read_data_bananas(d2l, tmp_path, monkeypatch):
    monkeypatch.setattr(d2l, "download_extract", lambda name: str(tmp_path))
    for part, count in (("bananas_train", 3), ("bananas_val", 2)):
        for i in range(count):
            save_image(tmp_path / part / "images" / f"{i}.png", (10, 20, 30 + i))
        rows = "".join(f"{i}.png,0,64,32,128,256\n" for i in range(count))
        text = "img_name,label,xmin,ymin,xmax,ymax\n" + rows
        (tmp_path / part / "label.csv").write_text(text)
    images, labels = d2l.read_data_bananas(is_train=True)
    assert [image.shape for image in images] == [(5, 7, 3)] * 3
    assert [image[0, 0].tolist() for image in images[:2]] == [
        [10, 20, 30],
        [10, 20, 31],
    ]
    assert images[0].flags.writeable
    close(labels, [[[0, 0.25, 0.125, 0.5, 1]]] * 3)
    X, y = next(iter(d2l.load_data_bananas(2)[1]))
    assert (list(X.shape), X.dtype) == ([2, 3, 5, 7], paddle.float32)
    close(X[0, :, 0, 0], [10, 20, 30])
    assert list(y.shape) == [2, 1, 5]


def test_read_voc_images(d2l, tmp_path, monkeypatch):
    lists = tmp_path / "ImageSets" / "Segmentation"
    lists.mkdir(parents=True)
    for name in ("train", "val"):
        (lists / f"{name}.txt").write_text("a\nb\n")
    for name in "ab":
        save_image(tmp_path / "JPEGImages" / f"{name}.jpg", (99, 99, 99))
        save_image(tmp_path / "SegmentationClass" / f"{name}.png", (128, 0, 0))
    features, labels = d2l.read_voc_images(str(tmp_path))
    assert [x.shape for x in features + labels] == [(3, 5, 7)] * 4
    assert labels[0][:, 0, 0].tolist() == [128, 0, 0]
    monkeypatch.setattr(d2l, "download_extract", lambda *names: str(tmp_path))
    X, y = next(iter(d2l.load_data_voc(2, (3, 4))[0]))
    assert (list(X.shape), list(y.shape)) == ([2, 3, 3, 4], [2, 3, 4])
    assert (y == 1).all()  # (128, 0, 0) is the aeroplane


def test_batchify(d2l):
    data = [(7, [2, 3], [5, 6, 8]), (9, [4], [1, 5])]
    centers, words, masks, labels = d2l.batchify(data)
    assert centers.tolist() == [[7], [9]]
    assert words.tolist() == [[2, 3, 5, 6, 8], [4, 1, 5, 0, 0]]
    assert masks.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert labels.tolist() == [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]]
    assert {x.dtype for x in (centers, words, labels)} == {paddle.int64}
    # Section 14.4 shares out a mean over 5 columns among the real ones.
    loss = paddle.ones([2], dtype="float32") / masks.sum(axis=1) * masks.shape[1]
    close(loss, [1, 5 / 3])


# Chapters 2, 3 and 6 ----------------------------------------------------------------


def test_size_divides_floats(d2l):
    # As in section 13.12, where the size of a layer's output is shared among channels.
    x = paddle.ones([1, 2, 3, 5])
    assert d2l.size(x) == 30
    gram = paddle.full([2, 2], 30.0) / (2 * (d2l.size(x) // 2))
    assert gram.tolist() == [[1, 1], [1, 1]]


def test_squared_loss_of_integer_labels(d2l):
    loss = d2l.squared_loss(paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([1, 5]))
    assert loss.tolist() == [[0], [4.5]]


def test_get_fashion_mnist_labels_of_a_column(d2l):
    for labels in ([0, 3], [[0], [3]]):
        expected = ["t-shirt", "dress"]
        assert d2l.get_fashion_mnist_labels(paddle.to_tensor(labels)) == expected
        assert d2l.get_fashion_mnist_labels(np.array(labels)) == expected
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    d2l.predict_ch3(net, [(paddle.rand([6, 1, 28, 28]), paddle.to_tensor([[9]] * 6))])
    titles = [axes.get_title() for axes in d2l.plt.gcf().axes]
    assert len(titles) == 6 and all(t.startswith("ankle boot\n") for t in titles)


@pytest.mark.parametrize("rows, columns, images", [(1, 1, 1), (2, 2, 4), (1, 3, 2)])
def test_show_images(rows, columns, images, d2l):
    x = paddle.arange(images * 6, dtype="float32").reshape([images, 2, 3])
    x.stop_gradient = False
    axes = d2l.show_images(x * 2, rows, columns, titles=["first"])
    assert axes.shape == (rows * columns,)
    assert (axes[0].images[0].get_array() == 2 * np.arange(6).reshape(2, 3)).all()
    assert [a.get_title() for a in axes] == ["first"] + [""] * (len(axes) - 1)


@pytest.mark.parametrize(
    "y_hat, y, right",
    [
        ([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]], [0, 2], 1),
        ([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]], [[0], [2]], 1),
        ([[0.1, 0.9]], [[1]], 1),
        ([1.0, 0.0], [1, 1], 1),
        ([[1.0], [1.0]], [1, 1], 2),
    ],
)
def test_accuracy(y_hat, y, right, d2l):
    assert d2l.accuracy(paddle.to_tensor(y_hat), paddle.to_tensor(y)) == right


def test_accuracy_of_many_and_of_pixels(d2l):
    scores = paddle.to_tensor([[1.0, 0.0]]).tile([300, 1])
    assert d2l.accuracy(scores, paddle.zeros([300], dtype="uint8")) == 300
    pixels = scores[:2].reshape([2, 2, 1, 1]).tile([1, 1, 3, 5])
    assert d2l.accuracy(pixels, paddle.zeros([2, 3, 5], dtype="int64")) == 30


def test_Accumulator(d2l):
    sums = d2l.Accumulator(2)
    with_gradient = paddle.to_tensor([1.5], stop_gradient=False)
    sums.add(with_gradient * 2, paddle.to_tensor(2))
    sums.add(np.array([[0.5]]), 1)
    assert (sums[0], sums[1], len(sums.data)) == (3.5, 3, 2)
    sums.reset()
    assert sums.data == [0, 0]


def test_Animator_takes_tensors_and_any_number_of_curves(d2l):
    animator = d2l.Animator(xlabel="epoch", legend=["a", "b"])
    for epoch in (1, 2):
        loss = paddle.to_tensor([0.5], stop_gradient=False) * epoch
        animator.add(paddle.to_tensor(epoch), (loss, None))
    assert points(animator.axes[0]) == [[[1, 0.5], [2, 1]], []]
    animator = d2l.Animator()
    animator.add(1, paddle.to_tensor(0.5))
    assert (animator.X, animator.Y) == ([[1]], [[0.5]])
    animator.add(2, None)
    assert (animator.X, animator.Y) == ([[1]], [[0.5]])
    animator = d2l.Animator()
    animator.add([2, 3], [5, 7])
    assert points(animator.axes[0]) == [[[2, 5]], [[3, 7]]]
    animator = d2l.Animator(nrows=2, ncols=3)
    animator.add(1, range(5))
    assert len(animator.axes) == 6
    assert points(animator.axes[0]) == [[[1, i]] for i in range(5)]


def test_corr2d_by_numpy(d2l):
    X = paddle.arange(20, dtype="float32").reshape([4, 5])
    K = paddle.to_tensor([[0, 1, -1], [2, 3, 5]])
    windows = np.lib.stride_tricks.sliding_window_view(X.numpy(), (2, 3))
    expected = (windows * K.numpy()).sum((2, 3))
    for x, k in ((X, K), (X, K.astype("float32")), (X.astype("int64"), K)):
        assert d2l.corr2d(x, k).tolist() == expected.tolist()
    kernel = paddle.ones([1, 2])
    kernel.stop_gradient = False
    d2l.corr2d(X, kernel).sum().backward()
    assert kernel.grad.tolist() == [[X[:, :4].sum(), X[:, 1:].sum()]]


# Devices ----------------------------------------------------------------------------


def small_net(classes=2):
    return nn.Sequential(nn.Flatten(), nn.Linear(6, classes))


def batches(count, n=4):
    X = paddle.arange(n * 6, dtype="float32").reshape([n, 1, 2, 3]) / 24
    return [(X, paddle.to_tensor([i % 2 for i in range(n)]))] * count


class Pair(nn.Layer):
    """Takes a list of two tensors, as the models of chapter 15 do."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, X):
        return self.linear(X[0] + X[1])


def test_evaluate_accuracy_gpu(d2l):
    before = paddle.get_device()
    identity = [(paddle.eye(3), paddle.to_tensor([0, 1, 0]))]
    close(d2l.evaluate_accuracy_gpu(lambda X: X, identity), 2 / 3)
    net = nn.Linear(3, 3)
    net.weight.set_value(paddle.eye(3))
    for device in (None, paddle.CPUPlace()):
        close(d2l.evaluate_accuracy_gpu(net, identity, device), 2 / 3)
    assert not net.training and paddle.get_device() == before
    pairs = [([paddle.rand([4, 3])] * 2, paddle.to_tensor([0, 1, 0, 1]))]
    assert 0 <= d2l.evaluate_accuracy_gpu(Pair(), pairs) <= 1


def test_try_all_gpus_gives_a_list(d2l):
    devices = d2l.try_all_gpus()
    assert isinstance(devices, list)
    assert len(devices) == max(1, paddle.device.cuda.device_count())


@pytest.mark.parametrize("count", [1, 3, 11])
def test_train_ch6(count, d2l, capsys):
    net = small_net()
    net[1].weight.set_value(paddle.full([6, 2], 9.0))
    data = batches(count)
    d2l.train_ch6(net, data, data, 2, 0, paddle.CPUPlace())
    drawn = [2, 4, 6, 8, 10, 11] if count == 11 else range(1, count + 1)
    train_loss, _, test_acc = d2l.plt.gca().lines
    close(train_loss.get_xdata(), [e + i / count for e in range(2) for i in drawn])
    close(test_acc.get_xdata(), [1, 2])
    # Xavier: uniform within sqrt(6 / (inputs + outputs)); a rate of 0 keeps it.
    weights = net[1].weight.numpy()
    assert abs(weights).max() <= math.sqrt(6 / 8) and weights.std() > 0.1
    assert re.search(r"loss \d\.\d{3}, train acc .*, test acc", capsys.readouterr().out)
    d2l.train_ch6(net, data, data, 1, 0.1, paddle.CPUPlace())
    assert (net[1].weight.numpy() != weights).any()


@pytest.mark.parametrize("count", [1, 3, 7])
def test_train_ch13(count, d2l, capsys):
    net, data = small_net(), batches(count)
    trainer = paddle.optimizer.SGD(0.0, parameters=net.parameters())
    loss = nn.CrossEntropyLoss(reduction="none")
    d2l.train_ch13(net, data, data, loss, trainer, 2)
    expected = d2l.evaluate_accuracy(net, data)
    output = capsys.readouterr().out
    assert f"train acc {expected:.3f}, test acc {expected:.3f}" in output


def test_train_ch13_with_a_list_of_inputs(d2l):
    net = Pair()
    data = [([paddle.rand([4, 3])] * 2, paddle.to_tensor([0, 1, 0, 1]))] * 5
    trainer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    loss = nn.CrossEntropyLoss(reduction="none")
    d2l.train_ch13(net, data, data, loss, trainer, 1, d2l.try_all_gpus())


def test_split_batch(d2l):
    X, y = paddle.arange(10).reshape([5, 2]), paddle.arange(5)
    Xs, ys = d2l.split_batch(X, y, [paddle.CPUPlace()] * 2)
    assert [x.tolist() for x in Xs] == [X[:2].tolist(), X[2:].tolist()]
    assert [part.tolist() for part in ys] == [[0, 1], [2, 3, 4]]
    with pytest.raises(ValueError, match="as many rows, got 5 and 4"):
        d2l.split_batch(X, y[:4], [paddle.CPUPlace()])


# Chapter 8 --------------------------------------------------------------------------


class NextLetter:
    """Predicts the character after the one it sees, and counts its steps."""

    params = ()

    def begin_state(self, batch_size):
        return 0

    def __call__(self, X, state):
        return nn.functional.one_hot(X.reshape([-1]) % 26 + 1, 27), state + 1


class Letters:
    idx_to_token = ("<unk>", *"abcdefghijklmnopqrstuvwxyz")

    def __getitem__(self, token):
        return self.idx_to_token.index(token)

    def to_tokens(self, indices):
        return [self.idx_to_token[i] for i in indices]


def test_predict_ch8(d2l):
    place = paddle.CPUPlace()
    assert d2l.predict_ch8("ax", 5, NextLetter(), Letters(), place) == "axyzabc"
    assert d2l.predict_ch8("m", 2, NextLetter(), Letters(), place) == "mno"


@pytest.mark.parametrize("kind", ["SimpleRNN", "GRU", "LSTM"])
@pytest.mark.parametrize("random_iter", [False, True])
def test_train_ch8_with_an_integer_rate(kind, random_iter, d2l, capsys):
    corpus = [[*"time traveller "]] * 4
    vocab = d2l.Vocab(corpus)
    indices = [vocab[token] for line in corpus for token in line]

    class Batches:
        def __iter__(self):
            read = d2l.seq_data_iter_sequential
            if random_iter:
                read = d2l.seq_data_iter_random
            return read(indices, 2, 5)

    net = d2l.RNNModel(getattr(nn, kind)(len(vocab), 7, time_major=True), len(vocab))
    args = (net, Batches(), vocab, 1, 10, paddle.CPUPlace())
    d2l.train_ch8(*args, use_random_iter=random_iter)
    output = capsys.readouterr().out
    assert output.count("time traveller") >= 2 and "1e" not in output


def test_train_ch8_of_a_model_from_scratch(d2l, capsys):
    """A table of scores for the next letter; one step by hand."""
    vocab = d2l.Vocab([[*"time traveller "]])
    size, letters = len(vocab), vocab[list("time ")]

    class Scores:
        def __init__(self):
            self.params = [paddle.zeros([size, size])]
            self.params[0].stop_gradient = False

        def begin_state(self, batch_size):
            return (paddle.zeros([1]),)

        def __call__(self, X, state):
            return nn.functional.one_hot(X.T.reshape([-1]), size) @ self.params[
                0
            ], state

    net = Scores()
    pairs = list(zip(letters, letters[1:]))
    batch = tuple(paddle.to_tensor([column]) for column in zip(*pairs))
    d2l.train_ch8(net, [batch], vocab, 2, 1, paddle.CPUPlace())
    gradient = np.zeros((size, size))
    for x, y in pairs:  # the mean of softmax - one-hot; the softmax is 1 / size
        gradient[x] += 1 / size / len(pairs)
        gradient[x, y] -= 1 / len(pairs)
    assert np.linalg.norm(gradient) < 1  # so it is not clipped
    close(net.params[0], -2 * gradient)
    assert f"perplexity {size}.0, " in capsys.readouterr().out


def test_grad_clipping(d2l):
    class Two(nn.Layer):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)

    net = Two()
    x = paddle.to_tensor([[2.0, 2.0]])
    net.used(x).sum().backward()  # gradients 2, 2 and 1, of norm 3
    d2l.grad_clipping(net, 5)
    assert net.used.weight.grad.tolist() == [[2], [2]]
    d2l.grad_clipping(net, 1)
    close(net.used.weight.grad, [[2 / 3], [2 / 3]])
    close(net.used.bias.grad, [1 / 3])
    assert net.unused.weight.grad is None


# Chapter 9 --------------------------------------------------------------------------


class TestSequenceMask:
    @pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
    @pytest.mark.parametrize("lens", [[1, 2], [1.0, 2.0]])
    def test_keeps_the_dtype_and_the_caller_s_tensor(self, dtype, lens):
        X = paddle.to_tensor([[1, 2, 3], [4, 5, 6]], dtype=dtype)
        masked = translation.sequence_mask(X, paddle.to_tensor(lens), value=-1)
        assert masked.dtype == X.dtype
        assert masked.tolist() == [[1, -1, -1], [4, 5, -1]]
        assert X.tolist() == [[1, 2, 3], [4, 5, 6]]

    def test_masks_along_the_second_of_three_axes(self):
        masked = translation.sequence_mask(
            paddle.ones([2, 3, 5]), paddle.to_tensor([1, 0])
        )
        assert masked.sum(axis=-1).tolist() == [[5, 0, 0], [0, 0, 0]]

    @pytest.mark.parametrize(
        "dtype", ["float16", "bfloat16", "int8", "uint8", "int16", "bool"]
    )
    def test_dtypes_for_which_a_kernel_is_missing(self, dtype):
        X = paddle.ones([1, 3]).astype(dtype)
        masked = translation.sequence_mask(X, paddle.to_tensor([2]))
        assert masked.dtype == X.dtype
        assert masked.astype("float32").tolist() == [[1, 1, 0]]

    def test_one_number_for_a_batch_of_one(self):
        masked = translation.sequence_mask(paddle.ones([1, 3]), paddle.to_tensor(2))
        assert masked.tolist() == [[1, 1, 0]]

    @pytest.mark.parametrize("lens", [2, [2], [1, 2, 3], [[1, 2]]])
    def test_lengths_of_another_shape_are_refused(self, lens):
        message = r"valid_len must be of shape \(batch,\) = \(2,\), got \("
        with pytest.raises(ValueError, match=message):
            translation.sequence_mask(paddle.ones([2, 3]), paddle.to_tensor(lens))

    def test_empty_batch(self):
        masked = translation.sequence_mask(paddle.ones([0, 3]), paddle.ones([0]))
        assert tuple(masked.shape) == (0, 3)


def test_sequence_mask_of_d2l_is_exact_and_leaves_the_caller_s_tensor(d2l):
    X = paddle.ones([2, 3])
    for lens in (paddle.to_tensor([1, 2]), paddle.to_tensor([1.0, 2.0])):
        assert d2l.sequence_mask(X, lens).tolist() == [[1, 0, 0], [1, 1, 0]]
        assert X.tolist() == [[1, 1, 1], [1, 1, 1]]
    fine = paddle.to_tensor([[1 + 1e-12, 1]], dtype="float64")
    assert d2l.sequence_mask(fine, paddle.to_tensor([1])).tolist() == [[1 + 1e-12, 0]]


@pytest.mark.parametrize("lens", [[4, 2, 0], [4.0, 2.0, 0.0], 2])
def test_MaskedSoftmaxCELoss_counts_valid_tokens_only(lens, d2l):
    # Equal scores for 10 words cost log 10 a token; the mean is over 4 tokens.
    valid = np.atleast_1d(lens)
    label = paddle.ones([len(valid), 4], dtype="int64")
    scores = paddle.ones([len(valid), 4, 10])
    values = d2l.MaskedSoftmaxCELoss()(scores, label, paddle.to_tensor(lens))
    close(values, np.log(10) * valid / 4)


class CopyDecoder(nn.Layer):
    """The smallest decoder: scores from the embedding of its input alone."""

    def __init__(self, words):
        super().__init__()
        self.layers = nn.Sequential(nn.Embedding(words, 8), nn.Linear(8, words))

    def init_state(self, enc_outputs, enc_valid_lens):
        assert list(enc_valid_lens.shape) == [enc_outputs[0].shape[1]]
        return enc_valid_lens

    def forward(self, X, state):
        return self.layers(X), state


@pytest.mark.parametrize("batch_size", [1, 2])
def test_train_seq2seq(batch_size, d2l, capsys):
    paddle.seed(3)
    lines = [["go", "."], ["i", "won", "!"]]
    vocab = d2l.Vocab(lines, reserved_tokens=["<pad>", "<bos>", "<eos>"])
    tokens, lens = d2l.build_array_nmt(lines, vocab, 5)
    data = d2l.load_array((tokens, lens, tokens, lens), batch_size)
    encoder = d2l.Seq2SeqEncoder(len(vocab), 4, 7, 2)
    net = d2l.EncoderDecoder(encoder, CopyDecoder(len(vocab)))
    d2l.train_seq2seq(net, data, 0.05, 60, vocab, paddle.CPUPlace())
    loss = float(re.search(r"loss (\d+\.\d+)", capsys.readouterr().out).group(1))
    # Each word but the first has one that follows. Of the first, "go" or "i", half the
    # sentences are wrong: 2 log 2 over 7 words, times 1/5 since padding counts in the
    # mean over 5 positions.
    close(loss, 2 * math.log(2) / 7 / 5, atol=0.02)


@pytest.mark.parametrize(
    "prediction, label, k, expected",
    [
        ("a b c d", "a b c d", 3, 1),
        ("go", "go", 2, 1),
        ("go", "go now please", 2, math.exp(1 - 3)),
        ("stop", "go .", 2, 0),
        # 4 of 5 words (a counts twice at most), 2 of 4 pairs.
        ("a b a c a", "a b a c d", 2, 0.8**0.5 * 0.75**0.25),
        ("a b c", "a b", 3, 0),
    ],
)
def test_bleu(prediction, label, k, expected, d2l):
    close(d2l.bleu(prediction, label, k), expected)


# Chapter 11 -------------------------------------------------------------------------


def descend(x1, x2, s1, s2, f_grad):
    g1, g2 = f_grad(x1, x2)
    return x1 - 0.1 * g1, x2 - 0.1 * g2, 0, 0


@pytest.mark.parametrize("noise", [0, paddle.zeros([1]), paddle.zeros([])])
def test_train_2d_of_a_quadratic(noise, d2l, capsys):
    path = d2l.train_2d(descend, 3, lambda a, b: (2 * a + noise, 4 * b + noise))
    values = [[float(np.asarray(x).item()) for x in pair] for pair in path]
    close(values, [[-5 * 0.8**i, -2 * 0.6**i] for i in range(4)])
    assert capsys.readouterr().out == "epoch 3, x1: -2.560000, x2: -0.432000\n"


@pytest.mark.parametrize(
    "wrap", [float, paddle.to_tensor, lambda x: paddle.ones([1]) * x]
)
def test_show_trace_2d(wrap, d2l):
    path = [(wrap(-5.0), wrap(-2.0)), (wrap(-4.0), wrap(-1.0))]
    d2l.show_trace_2d(lambda x1, x2: x1**2 + 2 * x2**2, path)
    axes = d2l.plt.gca()
    assert points(axes) == [[[-5, -2], [-4, -1]]]
    assert axes.collections and axes.get_xlabel() == "x1"
    box = axes.dataLim
    close([box.x0, box.y0, box.x1, box.y1], [-5.5, -3, 0.9, 0.9], rtol=1e-5)


@pytest.mark.parametrize("batch_size", [7, 100])
def test_train_concise_ch11(batch_size, d2l, capsys):
    X = paddle.ones([200, 5]) * 100
    data = d2l.load_array((X, paddle.zeros([200])), batch_size)
    d2l.train_concise_ch11(paddle.optimizer.SGD, {"learning_rate": 0.0}, data, 1)
    loss = float(re.search(r"loss: (\d+\.\d+)", capsys.readouterr().out).group(1))
    # The sum of five weights of N(0, 0.01), times 100, squared and halved: 2.5 on
    # average, and all but never above 60. Weights of Paddle's own give thousands.
    assert 0 <= loss < 60


def gradient_descent(params, states, hyperparams):
    """As the optimisers of the book are: the gradients are set to zero in place."""
    for p in params:
        with paddle.no_grad():
            p[:] -= hyperparams["lr"] * p.grad
        p.grad.zero_()
        states.append(p.tolist())
    return params


@pytest.mark.parametrize("batch_size, drawn", [(100, 2), (7, 0)])
def test_train_ch11_by_numpy(batch_size, drawn, d2l, capsys):
    X = np.array([[1.0, 2, 3], [-1, 1, 0]], "float32").repeat(batch_size // 2 + 1, 0)
    X = X[:batch_size]
    y = X @ np.array([0.5, -1, 0.25], "float32") + 2
    data = [(paddle.to_tensor(X), paddle.to_tensor(y))]
    states = []
    times, losses = d2l.train_ch11(gradient_descent, states, {"lr": 0.1}, data, 3, 4)
    # The first step is from what it draws, which is near 0; the others follow from it.
    w, b = np.array(states[0]), np.array(states[1])
    close(w, 0.1 * (X * y[:, None]).mean(0)[:, None], atol=0.1)
    expected = []
    for step in range(1, 4):
        if step * batch_size % 200 == 0:
            expected.append(((X @ w + b - y[:, None]) ** 2).mean() / 2)
        error = X @ w + b - y[:, None]
        w, b = w - 0.1 * (X * error).mean(0)[:, None], b - 0.1 * error.mean()
        close(states[2 * step], w, rtol=1e-4)
        close(states[2 * step + 1], b, rtol=1e-4)
    last = ((X @ w + b - y[:, None]) ** 2).mean() / 2
    if drawn:
        expected.append(last)
    close(losses, expected, rtol=1e-4)
    assert len(times) == drawn and sorted(times) == times
    assert f"loss: {last:.3f}, " in capsys.readouterr().out


# Chapter 13 -------------------------------------------------------------------------

CORNERS, CENTERS = [[60, 46, 378, 516]], [[219, 281, 318, 470]]


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_box_corner_to_center(dtype, d2l):
    boxes = d2l.box_corner_to_center(paddle.to_tensor(CORNERS, dtype=dtype))
    assert boxes.tolist() == CENTERS


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_box_center_to_corner(dtype, d2l):
    boxes = d2l.box_center_to_corner(paddle.to_tensor(CENTERS, dtype=dtype))
    assert boxes.tolist() == CORNERS


@pytest.mark.parametrize(
    "sizes, ratios", [([0.75, 0.5, 0.25], [1, 2, 0.5]), ([1], [4, 1]), ([0.5], [1])]
)
def test_multibox_prior_by_numpy(sizes, ratios, d2l):
    height, width = 3, 5
    expected = []
    for y, x in np.ndindex(height, width):
        pairs = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
        for s, r in pairs:
            w, h = s * r**0.5 * height / width / 2, s / r**0.5 / 2
            cx, cy = (x + 0.5) / width, (y + 0.5) / height
            expected.append([cx - w, cy - h, cx + w, cy + h])
    anchors = d2l.multibox_prior(paddle.rand([1, 3, height, width]), sizes, ratios)
    close(anchors, [expected], rtol=1e-5, atol=1e-6)


# Five anchors and two true boxes; the overlaps are, rounded,
# (0.05, 0), (0.14, 0), (0, 0.57), (0, 0.21), (0, 0.75).
TRUTH = [[0.1, 0.08, 0.52, 0.92], [0.55, 0.2, 0.9, 0.88]]
ANCHORS = [
    [0, 0.1, 0.2, 0.3],
    [0.15, 0.2, 0.4, 0.4],
    [0.63, 0.05, 0.88, 0.98],
    [0.66, 0.45, 0.8, 0.8],
    [0.57, 0.3, 0.92, 0.9],
]


@pytest.mark.parametrize(
    "threshold, expected",
    [(0.5, [-1, 0, 1, -1, 1]), (0.6, [-1, 0, -1, -1, 1]), (0.2, [-1, 0, 1, 1, 1])],
)
def test_assign_anchor_to_bbox(threshold, expected, d2l):
    truth, anchors = paddle.to_tensor(TRUTH), paddle.to_tensor(ANCHORS)
    assigned = d2l.assign_anchor_to_bbox(truth, anchors, anchors.place, threshold)
    assert (assigned.dtype, assigned.tolist()) == (paddle.int64, expected)


def test_assign_anchor_to_bbox_labels_the_anchors_of_a_batch(d2l):
    labels = paddle.to_tensor([[[0, *TRUTH[0]], [1, *TRUTH[1]]]] * 2)
    anchors = paddle.to_tensor([ANCHORS])
    offsets, mask, classes = d2l.multibox_target(anchors, labels)
    assert classes.tolist() == [[0, 1, 2, 0, 2]] * 2
    assert mask[0].tolist() == [float(c > 0) for c in (0, 1, 2, 0, 2) for _ in "1234"]
    # Anchor 4 has centre (0.745, 0.6) and size (0.35, 0.6); its box (0.725, 0.54)
    # and (0.35, 0.68).
    expected = [-0.2 / 0.35, -0.6 / 0.6, 0, 5 * math.log(0.68 / 0.6)]
    close(offsets[1, 16:], expected, rtol=1e-4, atol=1e-4)


DETECTED = [
    [0.1, 0.08, 0.52, 0.92],
    [0.08, 0.2, 0.56, 0.95],
    [0.15, 0.3, 0.62, 0.91],
    [0.55, 0.2, 0.9, 0.88],
]
PROBS = [[0, 0, 0, 0], [0.9, 0.8, 0.7, 0.1], [0.1, 0.2, 0.3, 0.92]]


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_offset_inverse(dtype, d2l):
    boxes = paddle.to_tensor(DETECTED)
    same = d2l.offset_inverse(boxes, paddle.zeros([4, 4], dtype=dtype))
    close(same, DETECTED, rtol=1e-5)
    offsets = d2l.offset_boxes(boxes, boxes[::-1])
    close(d2l.offset_inverse(boxes, offsets), DETECTED[::-1], rtol=1e-4)


@pytest.mark.parametrize(
    "which, threshold, classes, confidences",
    [
        # The dog at 0.9 hides two boxes; the cat stands alone.
        ([0, 1, 2, 3], 0.01, [1, 0, -1, -1], [0.92, 0.9, 0.8, 0.7]),
        ([0, 3], 0.01, [1, 0], [0.92, 0.9]),
        ([0, 3], 0.95, [-1, -1], [0.08, 0.1]),
        ([0, 1, 2, 3], 0.75, [1, 0, -1, -1], [0.92, 0.9, 0.8, 0.3]),
        ([0, 1, 2, 3], 0.85, [1, 0, -1, -1], [0.92, 0.9, 0.2, 0.3]),
        ([2], 0.01, [0], [0.7]),
    ],
)
def test_multibox_detection(which, threshold, classes, confidences, d2l):
    probs = paddle.to_tensor(np.array([PROBS] * 2, "float32")[:, :, which])
    anchors = paddle.to_tensor(np.array([DETECTED], "float32")[:, which])
    before = probs.numpy().copy()
    offsets = paddle.zeros([2, 4 * len(which)])
    output = d2l.multibox_detection(probs, offsets, anchors, 0.5, threshold)
    assert output.dtype == paddle.float32
    assert output[1, :, 0].tolist() == classes
    close(output[1, :, 1], confidences, rtol=1e-5)
    order = sorted(range(len(which)), key=lambda i: -PROBS[1 + which[i] // 3][which[i]])
    close(output[0, :, 2:], np.array(DETECTED)[[which[i] for i in order]], rtol=1e-5)
    assert (probs.numpy() == before).all()


# Chapter 14 -------------------------------------------------------------------------


def test_MultiHeadAttention_takes_one_length_for_a_batch_of_one(d2l):
    encoder = d2l.BERTEncoder(
        11, 4, [4], 4, 7, 2, 1, 0.0, key_size=4, query_size=4, value_size=4
    )
    tokens = paddle.to_tensor([[3, 1, 4, 1, 5]])
    expected = encoder(tokens, paddle.zeros_like(tokens), paddle.to_tensor([3]))
    encoded = encoder(tokens, paddle.zeros_like(tokens), paddle.to_tensor(3))
    close(encoded, expected)
    weights = encoder.blks[0].attention.attention.attention_weights
    assert (weights[:, :, 3:] == 0).all() and (weights[:, :, :3] > 0).all()
    X = paddle.ones([2, 3, 5])
    with pytest.raises(ValueError, match=r"valid_lens must be of shape .*, got \(\)"):
        d2l.masked_softmax(X, paddle.to_tensor(2))


# The report -------------------------------------------------------------------------


def test_report_has_a_row_for_each_repair(d2l):
    report = d2l_ext.d2l_repairs()
    assert [row.name for row in report] == [repair.name for repair in REPAIRS]
    for row, repair in zip(report, REPAIRS):
        assert row.here == ("repaired" if repair.where.here else "not needed")
        replaced = repair.replacement is not None and repair.where.here
        assert (getattr(d2l, row.name, None) is repair.replacement) == replaced or (
            repair.replacement is None
        )


def test_report_prints_as_a_table():
    lines = repr(d2l_ext.d2l_repairs()).splitlines()
    assert lines[0].split() == ["name", "section", "here", "versions", "wrong"]
    assert max(map(len, lines)) < 160
    assert any(
        line.startswith("bleu  ") and "Divides by zero" in line for line in lines
    )


def test_report_before_patching(tmp_path):
    code = "import d2l_ext; print({row.here for row in d2l_ext.d2l_repairs()})"
    output = in_new_process(code, tmp_path)
    assert "not repaired yet" in output and "'repaired'" not in output
