"""What few need, added to .venv afterwards: PyTorch, the web book, slides."""

import os
import sys

import setup_env
from problems import Problem, check_room, explain_os_error
from steps import pip_environment, run_step


def install(env, name, attempts, describe, options=()):
    """Ask pip for one list of arguments after the other; the last Problem is raised."""
    check_room(env.root, name)
    log = os.path.join(env.path, name + ".log")
    settings = pip_environment(env.python)
    pip = [env.python, "-m", "pip", "install", "--only-binary", ":all:", *options]
    # What is there already has to stay as the lock has it.
    pip += ["--constraint", env.lock(env.made.get("flavour", "cpu"))]
    problem = None
    for wanted in attempts:
        try:
            run_step(pip + wanted, settings, log, env.root, describe)
            return
        except Problem as error:
            problem = error
    raise problem


def add(name, title, is_there, install, without=None):
    """Install into .venv unless it is there, and return an exit status.

    With `without`, a sentence on how it goes on, a failure is no error.
    """
    env = setup_env.Environment(setup_env.ROOT)
    try:
        if is_there(env.path):
            return 0
        with setup_env.one_at_a_time(os.path.join(env.root, "pyproject.toml")):
            if not is_there(env.path):
                install(env)
                print(f"{title} is in .venv.")
        return 0
    except KeyboardInterrupt:
        print("\nInterrupted. Run make again, and it starts over.", file=sys.stderr)
        return 130
    except Problem as problem:
        text = str(problem)
    except OSError as error:
        text = explain_os_error(error, env.root)
    text = f"{title.partition(' ')[0]} could not be installed: {text}"
    if without:
        print(f"{text} {without}")
        return 0
    print(f"{name}: {text}", file=sys.stderr)
    return 1
