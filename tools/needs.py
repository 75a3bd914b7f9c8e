"""What a notebook needs that `make setup` does not install.

The notebook itself says so, by what its code imports; nothing has to be declared.
"""

import importlib.util
import re

OPTIONAL = {"torch": "PyTorch"}


def missing(notebook):
    """The names of optional packages that it imports and that are not installed."""
    code = "\n".join(c.source for c in notebook.cells if c.cell_type == "code")
    return [
        name
        for module, name in OPTIONAL.items()
        if re.search(rf"^\s*(?:import|from)\s+{module}\b", code, re.MULTILINE)
        and importlib.util.find_spec(module) is None
    ]


def reason(names):
    return f"needs {' and '.join(names)}, not installed (make torch)"
