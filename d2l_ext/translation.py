"""What 10.4 and 10.7 train on, how they train, and how well they translate then."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO, TextIOWrapper
from pkgutil import get_data
from typing import Any, NamedTuple, Tuple

import numpy as np

from . import _check
from ._paddle import paddle
from .progress import progress
from .repair import patch_d2l
from .repairs.translation import MaskedSoftmaxCELoss, bleu
from .transformer import TransformerDecoder, TransformerEncoder

nn, dist = paddle.nn, paddle.distributed
Pair = Tuple[str, str]


class TranslationData(NamedTuple):
    """Batches to train on, the two vocabularies, and the sentences themselves.

    Attributes:
        train_iter: gives source, its valid lengths, target, its valid lengths.
        src_vocab, tgt_vocab: d2l's vocabularies.
        train, held_out: (English, French) sentences; none is in both.
    """

    train_iter: Any
    src_vocab: Any
    tgt_vocab: Any
    train: list[Pair]
    held_out: list[Pair]


def load_data_nmt(
    batch_size: int, num_steps: int, num_examples: int = 600, corpus: str = "numbers"
) -> TranslationData:
    """Return English-French sentences, ready for training.

    Book: section 9.5. Both corpora come with pairs that are held out, half as many as
    ``num_examples``: of the book's sentences those that follow, without the ones that
    share a side with a pair to train on.

    Args:
        batch_size: number of pairs in a batch.
        num_steps: sentences are cut, or padded, to this many tokens.
        num_examples: number of pairs to train on.
        corpus: "numbers" for the numbers and dates in words that come with this
            package; "fra-eng" for the book's sentences, which are downloaded.

    Raises:
        ValueError: there is no such corpus, a number is less than 1, or the corpus has
            less than num_examples.
        ConnectionError: the book's sentences could not be had.
    """
    batch_size = _check.positive_int("batch_size", batch_size)
    num_steps = _check.positive_int("num_steps", num_steps)
    num_examples = _check.positive_int("num_examples", num_examples)
    if corpus not in list(CORPORA):
        raise ValueError(f"corpus must be one of {list(CORPORA)}, got {corpus!r}")
    train, held_out = CORPORA[corpus](num_examples)
    d2l = patch_d2l()
    arrays: list[paddle.Tensor] = []
    vocabs = []
    for side in 0, 1:
        lines = [pair[side].split(" ") for pair in train]
        vocab = d2l.Vocab(
            lines, min_freq=2, reserved_tokens=["<pad>", "<bos>", "<eos>"]
        )
        arrays += d2l.build_array_nmt(lines, vocab, num_steps)
        vocabs.append(vocab)
    batches = d2l.load_array(tuple(arrays), batch_size)
    return TranslationData(batches, vocabs[0], vocabs[1], train, held_out)


def _numbers(num_examples: int) -> tuple[list[Pair], list[Pair]]:
    parts = []
    for part in "train", "held_out":
        file = _data(f"english-french.{part}.tsv")
        parts.append(_pairs(TextIOWrapper(file, encoding="utf-8").read()))
    train, held_out = parts
    _check_enough(num_examples, len(train))
    return train[:num_examples], held_out[: max(1, num_examples // 2)]


def _fra_eng(num_examples: int) -> tuple[list[Pair], list[Pair]]:
    d2l = patch_d2l()
    try:
        text = d2l.read_data_nmt()
    except (OSError, ValueError) as error:  # of requests, the disk; a wrong checksum
        raise ConnectionError(
            f"The book's sentences could not be downloaded ({error}). Try again later, "
            "or take corpus='numbers', which comes with the package."
        ) from error
    pairs = _pairs(d2l.preprocess_nmt(text))
    _check_enough(num_examples, len(pairs) - 1)
    train = pairs[:num_examples]
    english, french = map(set, zip(*train))
    rest = pairs[num_examples:]
    new = [(e, f) for e, f in rest if e not in english and f not in french]
    return train, new[: max(1, num_examples // 2)]


def _check_enough(num_examples: int, most: int) -> None:
    if num_examples > most:
        raise ValueError(
            f"num_examples must be at most {most} with this corpus, got {num_examples}"
        )


CORPORA = {"numbers": _numbers, "fra-eng": _fra_eng}

# Section 10.7's key, query and value size, hidden size, norm shape, sizes of the
# feed-forward network, heads, layers and dropout.
TRANSFORMER = (32, 32, 32, 32, [32], 32, 64, 4, 2, 0.1)


def trained_transformer(data: TranslationData) -> Any:
    """Return the Transformer of section 10.7 as it is after its 200 epochs.

    Nothing is trained: the parameters come with the package. They are rounded to
    multiples of 2 ** -20, so single precision holds them exactly; in Paddle's default
    dtype float64 the model gives the very numbers of 10.7.

    Args:
        data: as ``load_data_nmt(64, 10)`` gives it: what the model was trained on.

    Returns:
        d2l's EncoderDecoder, in evaluation mode.

    Raises:
        TypeError, ValueError: data is something else, or has other vocabularies.

    Examples:
        >>> data = d2l_ext.translation.load_data_nmt(batch_size=64, num_steps=10)
        >>> net = d2l_ext.translation.trained_transformer(data)
        >>> d2l_ext.translation.translate(net, ["seventy one"], data, num_steps=10)
        ['soixante et onze']
    """
    if not isinstance(data, TranslationData):
        raise TypeError(f"data must be from load_data_nmt, got {_check.received(data)}")
    with np.load(_data("transformer-10-7.npz")) as arrays:
        stored = dict(arrays)
    for name in "src_vocab", "tgt_vocab":
        found, expected = getattr(data, name).idx_to_token, stored.pop(name).tolist()
        if found != expected:
            raise ValueError(
                f"data must have the {name} of load_data_nmt(64, 10), {len(expected)} "
                f"tokens, got another one with {len(found)}"
            )
    net = patch_d2l().EncoderDecoder(
        TransformerEncoder(len(data.src_vocab), *TRANSFORMER),
        TransformerDecoder(len(data.tgt_vocab), *TRANSFORMER),
    )
    for name, parameter in net.state_dict().items():
        parameter.set_value(stored[name].astype(paddle.get_default_dtype()))
    net.eval()
    return net


def _data(name: str) -> BytesIO:
    """Open a file of the package, which may be imported from a wheel as it is."""
    return BytesIO(get_data("d2l_ext", f"data/{name}") or b"")


def _pairs(text: str) -> list[Pair]:
    lines = (line.split("\t") for line in text.split("\n"))
    return [(parts[0], parts[1]) for parts in lines if len(parts) > 1]


def train_seq2seq(
    net: nn.Layer,
    data_iter: Any,
    lr: float,
    num_epochs: int,
    tgt_vocab: Any,
    grid: float | None = None,
) -> list[float]:
    """Train with Adam and teacher forcing; return the loss of a token, by epoch.

    Book: section 9.7. Padding counts nothing, and gradients are clipped to a norm of 1.
    In a process that paddle.distributed.launch started, after init_parallel_env(),
    each process takes its share of every batch; what is learned is the same.

    Args:
        net: an encoder-decoder: net(source, decoder input, source's valid lengths)
            returns the logits and the decoder's state.
        data_iter: as in :class:`TranslationData`.
        lr: learning rate.
        num_epochs: number of passes over the data.
        tgt_vocab: vocabulary of the target, which has "<bos>".
        grid: after each step the parameters are rounded to multiples of this number.
            Processors differ in the last bits of a sum; training multiplies such a
            difference until it shows, unless rounding takes it away each time. In
            double precision and with a grid of 2 ** -16, which is fine enough to learn
            as well, the same seed so gives the same numbers on all of them.
    """
    if grid is not None and not grid > 0:
        raise ValueError(f"grid must be greater than 0, got {grid}")
    optimizer = paddle.optimizer.Adam(
        float(lr), parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0)
    )
    loss = MaskedSoftmaxCELoss()
    net.train()
    processes = _processes()
    model = paddle.DataParallel(net) if processes > 1 else net
    losses = []
    for _ in progress(range(num_epochs)):
        total = tokens = 0.0
        for batch in data_iter:
            X, X_valid_len, Y, Y_valid_len = _share(batch)
            bos = paddle.full([Y.shape[0], 1], tgt_vocab["<bos>"], Y.dtype)
            dec_input = paddle.concat([bos, Y[:, :-1]], axis=1)
            Y_hat, _ = model(X, dec_input, X_valid_len)
            loss_of_share = loss(Y_hat, Y, Y_valid_len).sum()
            # DataParallel takes the mean of the processes' gradients, where the sum
            # over the whole batch is wanted.
            (loss_of_share * processes).backward()
            optimizer.step()
            optimizer.clear_grad()
            if grid is not None:
                _round_parameters(net, grid)
            total += float(loss_of_share) * Y.shape[1]
            tokens += float(Y_valid_len.sum())
        losses.append(_over_processes(total) / _over_processes(tokens))
    return losses


def _processes() -> int:
    """How many train together: one, unless init_parallel_env() was called."""
    return dist.get_world_size() if dist.is_initialized() else 1


def _share(batch: Sequence[paddle.Tensor]) -> list[paddle.Tensor]:
    """The part of a batch that this process computes."""
    processes = _processes()
    if processes == 1:
        return list(batch)
    if len(batch[0]) < processes:
        raise ValueError(
            f"a batch must have a pair for each of the {processes} processes, "
            f"got {len(batch[0])}"
        )
    return [part[dist.get_rank() :: processes] for part in batch]


def _over_processes(number: float) -> float:
    """The sum of what the processes have counted."""
    if _processes() == 1:
        return number
    total = paddle.to_tensor(number, "float64")
    dist.all_reduce(total)
    return float(total)


def _round_parameters(net: nn.Layer, grid: float) -> None:
    with paddle.no_grad():
        for parameter in net.parameters():
            parameter.set_value((parameter / grid).round() * grid)


def translate(
    net: nn.Layer, sentences: Sequence[str], data: TranslationData, num_steps: int
) -> list[str]:
    """Translate all sentences at once, one token after the other, always the likeliest.

    Args:
        net: an encoder-decoder with the book's interface, as in :func:`train_seq2seq`.
        sentences: English, tokens separated by spaces.
        data: has the vocabularies.
        num_steps: number of tokens of a source, and at most of a translation.

    Raises:
        TypeError, ValueError: sentences is one text, or holds something else than
            texts; num_steps is not a positive integer.
    """
    num_steps = _check.positive_int("num_steps", num_steps)
    is_text = isinstance(sentences, str)
    if is_text or not all(isinstance(sentence, str) for sentence in sentences):
        got = _check.received(sentences)
        raise TypeError(f"sentences must be a list of texts, got {got}")
    if not sentences:
        return []
    d2l = patch_d2l()
    net.eval()
    lines = [sentence.split(" ") for sentence in sentences]
    X, X_valid_len = d2l.build_array_nmt(lines, data.src_vocab, num_steps)
    with paddle.no_grad():
        state = net.decoder.init_state(net.encoder(X, X_valid_len), X_valid_len)
        token = paddle.full([len(lines), 1], data.tgt_vocab["<bos>"], X.dtype)
        tokens = []
        for _ in range(num_steps):
            logits, state = net.decoder(token, state)
            token = logits.argmax(axis=2)
            tokens.append(token)
    rows: list[list[int]] = paddle.concat(tokens, axis=1).numpy().tolist()
    eos = data.tgt_vocab["<eos>"]
    ends = (row.index(eos) if eos in row else len(row) for row in rows)
    texts = (data.tgt_vocab.to_tokens(row[:end]) for row, end in zip(rows, ends))
    return [" ".join(text) for text in texts]


def score(
    net: nn.Layer, pairs: Sequence[Pair], data: TranslationData, num_steps: int
) -> tuple[float, float]:
    """Return the part of sentences translated exactly, and the mean BLEU (k=2).

    Args:
        net, data, num_steps: as in :func:`translate`.
        pairs: (English, French) sentences, at least one.

    Raises:
        ValueError: there is no pair.
    """
    if not pairs:
        raise ValueError(f"pairs must hold at least 1 pair, got {len(pairs)}")
    found = translate(net, [english for english, _ in pairs], data, num_steps)
    wanted = [french for _, french in pairs]
    exact = sum(f == w for f, w in zip(found, wanted)) / len(pairs)
    return exact, sum(bleu(f, w, 2) for f, w in zip(found, wanted)) / len(pairs)
