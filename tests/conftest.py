"""What is done with the markers that pyproject.toml lists, and fixtures for many."""

import sys
import types
import warnings

import pytest


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu"):
        import paddle

        if not paddle.is_compiled_with_cuda() or not paddle.device.cuda.device_count():
            pytest.skip("no GPU here, or a Paddle without GPU support")


@pytest.fixture
def double_precision():
    """Layers and tensors that say nothing else are float64."""
    import paddle

    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def book(torch, monkeypatch):
    """d2l.torch. It imports torchvision, which nothing here needs."""
    for name in "torchvision", "torchvision.transforms":
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    monkeypatch.delitem(sys.modules, "d2l.torch", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its escapes are old-fashioned
        import d2l.torch
    yield d2l.torch
    sys.modules.pop("d2l.torch", None)
