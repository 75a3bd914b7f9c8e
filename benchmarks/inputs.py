"""The same inputs and weights for every entrant."""

from pathlib import Path

import numpy as np


def numbers(shape):
    rng = np.random.default_rng(1)
    return rng.standard_normal((shape.batch, shape.n, shape.d), "float32")


def lengths(shape):
    """Spread evenly from nothing to n: half of all keys are valid."""
    middle = (np.arange(shape.batch) + 0.5) / shape.batch
    return np.ceil(shape.n * middle).astype("int64")


def weights(shape):
    """Of queries, keys, values and output, (in, out) each."""
    rng = np.random.default_rng(2)
    return rng.standard_normal((4, shape.d, shape.d), "float32") / shape.d**0.5


# As in notebook 10.7: key, query and value sizes, num_hiddens, norm_shape, the two of
# the feed-forward network, heads, layers, dropout.
TRANSFORMER = (32, 32, 32, 32, [32], 32, 64, 4, 2, 0.1)
BATCH, STEPS, LR, PAIRS = 64, 10, 0.005, 600
CORPUS = Path(__file__).parents[1] / "d2l_ext" / "data" / "english-french.train.tsv"


def sentences():
    """English and French lines as tokens: what load_data_nmt() trains on.

    Read from the file, since d2l_ext would import Paddle beside PyTorch.
    """
    text = CORPUS.read_text("utf-8").splitlines()[:PAIRS]
    return zip(*([side.split(" ") for side in row.split("\t")[:2]] for row in text))


def target_tokens():
    """Tokens of an epoch, as the book counts them: with the end, at most STEPS."""
    _, french = sentences()
    return sum(min(len(line) + 1, STEPS) for line in french)
