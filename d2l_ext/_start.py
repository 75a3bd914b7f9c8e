"""Tell what the package is imported for, by what Python has loaded anyway."""

import os
import sys


def for_doctor() -> bool:
    """Whether Python imports the package only to run ``python -m d2l_ext.doctor``.

    The doctor has to run where Paddle is missing, or ends the process that imports it,
    and the package's own import is Paddle's. No list of arguments tells on Python 3.9,
    but the function of ``runpy`` that asked for the import knows the module's name.
    """
    package = __name__.partition(".")[0]
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == "runpy":
            return frame.f_locals.get("mod_name") == f"{package}.doctor"
    return False


def keep_own_path() -> None:
    """Take from where modules are sought what the user put first.

    That is the current folder (by ``python -m``) and those of PYTHONPATH. A file
    ``random.py`` in one of them is for the doctor to find, and not to import.
    """
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    mine = {os.path.abspath(entry) for entry in given if entry}
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) not in mine]
