"""Run the notebooks of `make aistudio`'s zip where students would: `make test-bundle`.

Each row gets an environment in build/bundle/ with a Paddle and with what platforms
have, but with nothing of this project. There all notebooks run: in a folder that nobody
may write to, without a network, and with the name of a kernel that is not there. What
they print is compared with what is stored.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aistudio import FOLDER
from test_matrix import GPU_BUILD, NEWEST, ROOT, Row, run_all
from test_matrix import Environment as MatrixEnvironment

ZIP = Path(ROOT, "build", "aistudio.zip")
SCRIPT = Path(ROOT, "tools", "run_bundle.py")

# The oldest that students meet; of Paddle 2.5, only the GPU build is on PyPI, and it
# computes on the CPU as well. Then one that many have, and the newest.
ROWS = [
    Row("3.8", "2.5.2" + GPU_BUILD, "1.19", "3.5"),
    Row("3.9", "2.6.2", NEWEST, NEWEST),
    Row("3.12", "3.3.1", NEWEST, NEWEST),
]
ENGLISH = ROWS[0]  # the same code in the other edition

PLATFORM = ["ipykernel", "ipywidgets", "matplotlib", "nbclient", "nbformat", "pandas"]
PLATFORM += ["pillow", "requests", "setuptools"]
FOREIGN = "py35-paddle1.2.0"
NOWHERE = "http://127.0.0.1:9"  # where nothing answers
LONGEST = "10-4", "10-7"  # first, so that no processor waits for them in the end


class Environment(MatrixEnvironment):
    """What a platform has: Paddle, and else whatever pip takes if no row says more."""

    FOLDER = "bundle"

    def requirements(self):
        version = self.row.paddle.replace(GPU_BUILD, "")
        name = "paddlepaddle-gpu" if self.flavour == "gpu" else "paddlepaddle"
        needs = [f"{name}=={version}", *PLATFORM, *self.older()]
        # What Paddle 2 was built for; a platform has seen to that.
        return [*needs, "numpy<2"] if version.startswith("2") else needs

    def installs(self):
        pip, packages, _ = super().installs()  # d2l is in the zip
        return [pip, packages]

    def test(self, options):
        """Run all notebooks of the zip, and return (state, text)."""
        start = time.time()
        with tempfile.TemporaryDirectory() as folder, unpacked(Path(folder)) as student:
            edition = student / ("en" if self.row == ENGLISH else "")
            paths = sorted(edition.glob("*.ipynb"), key=shorter)
            left_out = [path for path in paths if needs_more(path)]
            paths = [path for path in paths if path not in left_out]
            # One for each core, as the notebooks compute in one thread.
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                ended = list(pool.map(lambda path: self.execute(path, folder), paths))
        outputs = [done.stdout for done in ended if done.returncode]
        if outputs:
            print("\n".join(outputs), flush=True)
            return "failed", f"failed: {len(outputs)} notebooks of {len(paths)}"
        text = f"{len(paths)} notebooks as stored in {time.time() - start:.0f} s"
        names = ", ".join(path.stem for path in left_out)
        return "passed", f"{text}, not run: {names}" if names else text

    def execute(self, path, folder):
        """Run one, from another folder than it lies in."""
        ours = "PYTHON", "PIP_"
        env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        env.update(PIP_NO_INDEX="1", PYTHONIOENCODING="utf-8")
        env.update({f"{scheme}_proxy": NOWHERE for scheme in ("http", "https", "all")})
        return subprocess.run(
            [self.python, str(SCRIPT), folder, str(path)],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )


@contextlib.contextmanager
def unpacked(folder):
    """The zip's folder, where nobody may write, with kernels that nobody has."""
    with zipfile.ZipFile(ZIP) as file:
        file.extractall(folder)
    paths = list((folder / FOLDER).rglob("*"))
    for path in paths:
        if path.suffix == ".ipynb":
            notebook = json.loads(path.read_text(encoding="utf-8"))
            notebook["metadata"]["kernelspec"]["name"] = FOREIGN
            path.write_text(json.dumps(notebook), encoding="utf-8")
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder / FOLDER
    for path in paths:  # else it could not be deleted
        path.chmod(0o755)


def shorter(path):
    return not path.name.startswith(LONGEST), path.name


def needs_more(path):
    """Whether its first cell is told so. It is PyTorch: see tests/test_aistudio.py."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return "also=" in "".join(notebook["cells"][0]["source"])


def main(arguments=None):
    return run_all("test-bundle", [Environment(ROOT, row) for row in ROWS], arguments)


if __name__ == "__main__":
    sys.exit(main())
