"""Mutation test: is there a test that fails for every small change of the code?

    python tools/mutants.py d2l_ext/positional.py d2l_ext/attention.py

Needs mutmut, whose operators make the changes. Its own runner does not work here: it
calls mutants through wrappers that paddle.jit.to_static cannot read, and leaves out
functions with a decorator. So each mutant is a copy of the package with one changed
file, and a fork of this process, in which Paddle is loaded, runs the tests on it.
Mutants that no test notices are printed, and are in build/mutants/survivors.txt.
"""

import difflib
import gc
import os
import shutil
import signal
import sys
from pathlib import Path

import libcst
from mutmut.mutation import file_mutation
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "mutants"
# The fast ones first.
TESTS = ("positional", "attention", "wrong_calls", "properties", "chapter_10", "layers")
OPTIONS = ("-q", "-o", "addopts=", "-p", "no:cacheprovider", "--tb=native")
TIME_LIMIT = 300  # seconds for a mutant that makes a loop endless


class Visitor(file_mutation.MutationVisitor):
    """mutmut's, which also goes into functions that have a decorator."""

    def _skip_node_and_children(self, node):
        if isinstance(node, libcst.FunctionDef):
            return False
        return super()._skip_node_and_children(node)


def mutants(path):
    """Return (line, text of the changed file) for each change of a source file."""
    wrapper = libcst.metadata.MetadataWrapper(libcst.parse_module(path.read_text()))
    visitor = Visitor(
        [*mutation_operators, *OPERATORS], IgnoredCode(set(), set(), set())
    )
    module = wrapper.visit(visitor)
    position = wrapper.resolve(libcst.metadata.PositionProvider)
    for mutation in visitor.mutations:
        changed = file_mutation.deep_replace(
            module, mutation.original_node, mutation.mutated_node
        )
        yield position[mutation.original_node].start.line, changed.code


def without_decorator(node):
    if node.decorators:
        yield node.with_changes(decorators=node.decorators[1:])


OPERATORS = [(libcst.FunctionDef, without_decorator)]


def survives(name, text, tests=TESTS):
    """Run the tests in a fork on a copy of the package with one changed file."""
    package = OUT / "d2l_ext"
    shutil.copytree(
        ROOT / "d2l_ext",
        package,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (package / name).write_text(text)
    child = os.fork()
    if child == 0:
        os._exit(run_tests(package, tests))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status == 0


def run_tests(package, tests):
    import pytest

    signal.alarm(TIME_LIMIT)
    with open(OUT / "log.txt", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.path.insert(0, str(package.parent))
    try:
        import d2l_ext

        assert d2l_ext.__file__ == str(package / "__init__.py")
        sys.dont_write_bytecode = False
        tests = [str(ROOT / "tests" / f"test_{name}.py") for name in tests]
        return pytest.main(["-x", *OPTIONS, *tests])
    except BaseException as error:  # a mutant may raise anything
        print(repr(error))
        return 1


def main(paths):
    # What takes long to import is imported once, and d2l_ext by each fork anew.
    import matplotlib.pyplot  # noqa: F401
    import paddle  # noqa: F401
    import psutil  # noqa: F401
    import pytest

    os.chdir(ROOT)
    sys.dont_write_bytecode = True  # no stale mutant
    sys.pycache_prefix = str(OUT / "pycache")
    OUT.mkdir(parents=True, exist_ok=True)
    pytest.main([*OPTIONS, "tests/gate"])  # for its plug-ins
    import hypothesis.strategies  # noqa: F401

    assert "d2l_ext" not in sys.modules
    gc.freeze()  # a collection in the fork would copy all of this process
    if not survives("__init__.py", Path("d2l_ext/__init__.py").read_text()):
        sys.exit(f"the tests fail without any change: see {OUT / 'log.txt'}")
    tried, survivors = 0, []
    for path in map(Path, paths):
        source = path.read_text().splitlines()
        tests = sorted(TESTS, key=lambda name: name != path.stem)  # its own first
        for line, text in mutants(path):
            tried += 1
            if survives(path.name, text, tests):
                diff = difflib.unified_diff(source, text.splitlines(), n=0, lineterm="")
                survivors.append(f"{path}:{line}\n" + "\n".join(list(diff)[3:]) + "\n")
                print(survivors[-1], flush=True)
    (OUT / "survivors.txt").write_text("\n".join(survivors))
    print(f"{tried} mutants, {len(survivors)} survived")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
