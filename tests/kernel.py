"""Run cells in a fresh kernel, as a reader would, and return what each one shows."""

import nbclient
import nbformat


def run_cells(*sources, cwd=None):
    """Execute the cells in order; return a list of outputs for each."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    resources = {"metadata": {"path": str(cwd)}} if cwd else {}
    client = nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=300, resources=resources
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def texts(outputs):
    """What was printed or echoed as text."""
    return [
        o.text if o.output_type == "stream" else o.data["text/plain"] for o in outputs
    ]


def pictures(outputs):
    """The PNG figures that were shown."""
    return [o for o in outputs if "image/png" in o.get("data", {})]
