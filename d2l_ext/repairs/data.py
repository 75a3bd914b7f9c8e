"""Downloading and reading the book's data."""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import locale
import os
import re
from collections.abc import Iterable
from typing import IO, Any

import numpy as np

from .._paddle import paddle
from .._types import Array
from ._table import EVERYWHERE, PADDLE_3, Repair, Where, book

CACHE = os.path.join("..", "data")
SHA1 = re.compile("[0-9a-f]{40}")
PATIENCE = 60  # seconds without a word from a server


def get_dataloader_workers() -> int:
    """Return 0: data are read in this process.

    Book: section 3.5. Paddle's worker processes crash in notebooks.
    """
    return 0


def download(name: str, cache_dir: str = CACHE) -> str:
    """Return the path of a file from the book's collection, downloaded if need be.

    Book: section 4.10.

    Args:
        name: a key of ``d2l.DATA_HUB``, which gives an address and a SHA-1 sum.
        cache_dir: the folder of the files. A file that is there and has the sum is not
            loaded again. What is no SHA-1 sum is not compared.

    Raises:
        ValueError: there is no such name, or what came has another sum.
        requests.RequestException: nothing came for a minute, or the server reported an
            error. After either, the folder is as it was.
    """
    d2l = book()
    if name not in d2l.DATA_HUB:
        raise ValueError(f"{name!r} is not in DATA_HUB, which has {list(d2l.DATA_HUB)}")
    url, sha1 = d2l.DATA_HUB[name]
    if sha1 is not None and not SHA1.fullmatch(sha1):
        sha1 = None  # as the book has it for BERT: nothing can have this sum
    path = os.path.join(cache_dir, url.split("/")[-1])
    if os.path.exists(path) and _sha1(path) == sha1:
        return path
    os.makedirs(cache_dir, exist_ok=True)
    print(f"downloading {path} from {url} ...")
    part = f"{path}.{os.getpid()}.part"
    try:
        request = d2l.requests.get(url, stream=True, timeout=PATIENCE)
        with open(part, "wb") as file, request as answer:
            answer.raise_for_status()
            file.writelines(answer.iter_content(2**20))
        if sha1 is not None and _sha1(part) != sha1:
            raise ValueError(
                f"{url} gave {os.path.getsize(part)} bytes that are not the file "
                f"wanted: SHA-1 must be {sha1}, got {_sha1(part)}"
            )
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
    return path


def _sha1(path: str) -> str:
    sha1 = hashlib.sha1()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(2**20), b""):
            sha1.update(block)
    return sha1.hexdigest()


def _open_as_utf8(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> IO[Any]:
    if "b" not in mode:
        encoding = encoding or "utf-8"
    return builtins.open(file, mode, buffering, encoding, *args, **kwargs)


def _read_texts_as_utf8(module: Any) -> None:
    """Let the functions of d2l find an ``open`` that does not ask the system."""
    module.open = _open_as_utf8


def _read_image(*path: str) -> Array:
    """An image as an array (height, width, 3), uint8, red first."""
    from PIL import Image

    with Image.open(os.path.join(*path)) as image:
        return np.array(image.convert("RGB"))  # a copy: it may be written to


def read_data_bananas(is_train: bool = True) -> tuple[list[Array], paddle.Tensor]:
    """Return the images of section 13.6 and their labels.

    Args:
        is_train: whether to read the training or the validation data.

    Returns:
        A list of arrays (height, width, 3), uint8, and a float32 tensor (n, 1, 5):
        class, and the corners in shares of 256 pixels.
    """
    d2l = book()
    part = "bananas_train" if is_train else "bananas_val"
    folder = os.path.join(d2l.download_extract("banana-detection"), part)
    table = d2l.pd.read_csv(os.path.join(folder, "label.csv")).set_index("img_name")
    images = [_read_image(folder, "images", str(name)) for name in table.index]
    labels = paddle.to_tensor(table.to_numpy("float32")).unsqueeze(1)
    return images, labels / 256


def read_voc_images(
    voc_dir: str, is_train: bool = True
) -> tuple[list[Array], list[Array]]:
    """Return the images of section 13.9 and, as images, the classes of their pixels.

    Args:
        voc_dir: the folder of the data set.
        is_train: whether to read the training or the validation data.

    Returns:
        Two lists of arrays (3, height, width), uint8.
    """
    name = "train.txt" if is_train else "val.txt"
    with open(
        os.path.join(voc_dir, "ImageSets", "Segmentation", name), encoding="utf-8"
    ) as file:
        names = file.read().split()

    def read(folder: str, suffix: str) -> list[Array]:
        images = (_read_image(voc_dir, folder, n + suffix) for n in names)
        return [image.transpose([2, 0, 1]) for image in images]

    return read("JPEGImages", ".jpg"), read("SegmentationClass", ".png")


def batchify(
    data: Iterable[tuple[int, list[int], list[int]]],
) -> tuple[paddle.Tensor, ...]:
    """Return a batch of the skip-gram model, of as many columns as the longest needs.

    Book: section 14.3.

    Args:
        data: for each word its index, and lists of the indices of the words around it
            and of words drawn as noise.

    Returns:
        Four tensors: the words (batch, 1), int64; and, each (batch, longest), the words
        around them and the noise, int64, filled up with 0; 1 for those and 0 for what
        was filled up, float32, as losses are weighted by it; and 1 for the words
        around, else 0, int64.
    """
    centers, contexts, negatives = zip(*data)
    longest = max(len(c) + len(n) for c, n in zip(contexts, negatives))

    def padded(rows: list[list[int]], dtype: paddle.dtype) -> paddle.Tensor:
        rows = [row + [0] * (longest - len(row)) for row in rows]
        return paddle.to_tensor(rows, dtype=dtype)

    words = [[*c, *n] for c, n in zip(contexts, negatives)]
    return (
        paddle.to_tensor(centers, dtype="int64").reshape([-1, 1]),
        padded(words, paddle.int64),
        padded([[1] * len(row) for row in words], paddle.float32),
        padded([[1] * len(c) for c in contexts], paddle.int64),
    )


NO_OPENCV = Where("without opencv-python", importlib.util.find_spec("cv2") is None)
NOT_UTF8 = Where(
    "Windows, and others whose texts are not UTF-8",
    locale.getpreferredencoding(False).lower() not in ("utf-8", "utf8"),
)

REPAIRS = (
    Repair(
        "get_dataloader_workers",
        "3.5",
        "Says 4 processes, which crash; the data are read in the notebook's own.",
        EVERYWHERE,
        get_dataloader_workers,
    ),
    Repair(
        "download",
        "4.10",
        "Keeps a half-written file, or the page with which a server says that there "
        "is none, as the file.",
        EVERYWHERE,
        download,
    ),
    Repair(
        "open",
        "8.2",
        "Texts are read in the encoding of the system: GBK on a Chinese Windows.",
        NOT_UTF8,
        apply=_read_texts_as_utf8,
    ),
    Repair(
        "read_data_bananas",
        "13.6",
        "Needs opencv-python, which d2l does not ask for.",
        NO_OPENCV,
        read_data_bananas,
    ),
    Repair(
        "read_voc_images",
        "13.9",
        "Needs opencv-python, which d2l does not ask for.",
        NO_OPENCV,
        read_voc_images,
    ),
    Repair(
        "batchify",
        "14.3",
        "Gives masks of integers, by which a loss cannot be divided.",
        PADDLE_3,
        batchify,
    ),
)
