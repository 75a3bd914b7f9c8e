"""examples/several_devices.py: two processes learn what one does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import paddle
import pytest

from d2l_ext import translation

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "examples" / "several_devices.py"
TRAINING = [str(SCRIPT), "--epochs", "3", "--dropout", "0"]

cpu_build = pytest.mark.skipif(
    paddle.is_compiled_with_cuda() or not paddle.distributed.is_available(),
    reason="only Paddle's build for the CPU, on Linux, has processes on the CPU",
)


def run(*arguments):
    """Return what was printed, without the launcher's messages."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall(r"^(?:epoch|held out).*", done.stdout, re.MULTILINE)


@cpu_build
def test_two_processes_have_the_losses_of_one(tmp_path):
    launcher = ["-m", "paddle.distributed.launch", "--nproc_per_node", "2"]
    two = run(*launcher, "--log_dir", str(tmp_path), *TRAINING)
    assert len([*tmp_path.glob("workerlog.*")]) == 2
    one = run(*TRAINING)
    losses = [
        [float(loss) for loss in re.findall(r"loss (\S+)", " ".join(lines))]
        for lines in (one, two)
    ]
    assert len(losses[0]) == 3 and losses[0][2] < 0.6 * losses[0][0]
    # float32: the order of a sum changes the last digits
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


def test_each_pair_is_in_one_share(monkeypatch):
    batch = paddle.arange(7), paddle.arange(70, 77)
    shares = []
    for rank in range(3):
        monkeypatch.setattr(translation.dist, "is_initialized", lambda: True)
        monkeypatch.setattr(translation.dist, "get_world_size", lambda: 3)
        monkeypatch.setattr(translation.dist, "get_rank", lambda rank=rank: rank)
        first, second = translation._share(batch)
        assert (second - first == 70).all()
        shares.append(first.tolist())
    assert sorted(sum(shares, [])) == [*range(7)] and min(map(len, shares)) == 2
    with pytest.raises(ValueError, match="each of the 3 processes, got 2"):
        translation._share([part[:2] for part in batch])
