"""What a notebook needs that `make setup` does not install.

The notebook itself says so, by what its code imports; nothing has to be declared.
"""

import ast
import importlib.util

from IPython.core.inputtransformer2 import TransformerManager

OPTIONAL = {"torch": "PyTorch"}


def missing(notebook):
    """The names of optional packages that it imports and that are not installed."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    imported = {module for code in cells for module in imports(code)}
    return [
        name
        for module, name in OPTIONAL.items()
        if module in imported and importlib.util.find_spec(module) is None
    ]


def imports(code):
    """Yield what a cell's own code imports: not what a text in it or a magic says."""
    try:
        tree = ast.parse(TransformerManager().transform_cell(code))
    except SyntaxError:
        return  # whoever runs it hears of that
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        yield from (name.partition(".")[0] for name in names)


def reason(names):
    return f"needs {' and '.join(names)}, not installed (make torch)"
