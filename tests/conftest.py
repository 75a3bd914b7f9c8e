"""What is done with the markers that pyproject.toml lists, and a fixture for many."""

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
