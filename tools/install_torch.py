"""Put the CPU build of PyTorch into .venv, unless one is there: `make torch`.

It is in no lock: only tests and a notebook that compare with it need it. On Linux the
package index has builds that bring gigabytes for GPUs, so there only a build whose
version says "+cpu" is asked for: first where pip looks anyway, then in PyTorch's index.
"""

import argparse
import glob
import os
import sys

import setup_env
from problems import Problem, check_room, explain_os_error
from steps import pip_environment, run_step

VERSION, LAST_FOR_3_9 = "2.13.0", "2.8.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Where it cannot be had, `make test` should not wait long to go on without it.
IMPATIENT = ["--retries", "1", "--timeout", "15"]


def version(python):
    return LAST_FOR_3_9 if python < (3, 10) else VERSION


def attempts(platform, python):
    """What pip is asked for, one after the other."""
    wanted = "torch==" + version(python)
    if not platform.startswith("linux"):
        return [[wanted]]  # these builds are for the CPU
    cpu = wanted + "+cpu"
    return [[cpu], [cpu, "--extra-index-url", CPU_INDEX]]


def is_there(path):
    """Whether an environment has PyTorch; pip writes RECORD when it is done."""
    site = os.path.join(path, "lib", "python*", "site-packages")
    return bool(glob.glob(os.path.join(site, "torch-*.dist-info", "RECORD")))


def install(env):
    """Try all, and raise the Problem of the last if none succeeds."""
    check_room(env.root, "torch")
    log = os.path.join(env.path, "torch.log")
    settings = pip_environment(env.python)
    pip = [env.python, "-m", "pip", "install", "--only-binary", ":all:", *IMPATIENT]
    # What is there already has to stay as the lock has it.
    pip += ["--constraint", env.lock(env.made.get("flavour", "cpu"))]
    problem = None
    for wanted in attempts(sys.platform, sys.version_info[:2]):
        try:
            run_step(pip + wanted, settings, log, env.root, progress)
            return
        except Problem as error:
            problem = error
    raise problem


def progress(output):
    if "Installing collected packages" in output:
        return "installing PyTorch"
    return "fetching PyTorch (CPU)"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optional", action="store_true", help="do without it, too")
    options = parser.parse_args(arguments)
    env = setup_env.Environment(setup_env.ROOT)
    if is_there(env.path):
        return 0
    try:
        with setup_env.one_at_a_time(os.path.join(env.root, "pyproject.toml")):
            if not is_there(env.path):
                install(env)
                print(f"PyTorch {version(sys.version_info[:2])} (CPU) is in .venv.")
        return 0
    except KeyboardInterrupt:
        print("\nInterrupted. Run make again, and it starts over.", file=sys.stderr)
        return 130
    except Problem as problem:
        text = str(problem)
    except OSError as error:
        text = explain_os_error(error, env.root)
    text = f"PyTorch could not be installed: {text}"
    if options.optional:
        print(f"{text} What compares with it is skipped.")
        return 0
    print(f"torch: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
