"""Every public name has an example in its docstring, and each prints what it says."""

import doctest
import inspect
import re

import matplotlib
import paddle
import pytest

import d2l_ext

matplotlib.use("Agg")
from matplotlib import pyplot as plt

NAMES = {"d2l_ext": d2l_ext, "paddle": paddle}  # what an example may use unasked


def documented():
    """The public functions and classes, and the classes' own public methods."""
    for name in d2l_ext.__all__:
        member = getattr(d2l_ext, name)
        if callable(member):
            yield name, member
        if inspect.isclass(member):
            for method, function in vars(member).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function


DOCUMENTED = dict(documented())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example_prints_what_it_says(name, capsys):
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(DOCUMENTED[name], name, globs=dict(NAMES))
    heading = re.search(r"^ *Examples:\n", example.docstring or "", re.MULTILINE)
    assert heading and example.examples, "the docstring has no example"
    failed, _ = doctest.DocTestRunner(verbose=False).run(example)
    plt.close("all")
    assert not failed, capsys.readouterr().out


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_argument_is_described(name):
    member = DOCUMENTED[name]
    arguments = set(inspect.signature(member).parameters) - {"self"}
    heads = re.findall(r"^ +([\w, ]+):", inspect.getdoc(member), re.MULTILINE)
    assert arguments <= set(re.findall(r"\w+", " ".join(heads)))


def test_all_that_is_public_is_looked_at():
    assert {"plot", "PositionalEncoding", "PositionalEncoding.forward"} <= {*DOCUMENTED}
    assert len(DOCUMENTED) >= len(d2l_ext.__all__)
