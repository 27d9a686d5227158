"""Executes the notebooks of samples/notebooks; a cell that fails ends it."""
import pathlib

import nbclient
import nbformat

folder = pathlib.Path(__file__).resolve().parents[2] / "samples" / "notebooks"
notebooks = sorted(folder.glob("*.ipynb"))
assert len(notebooks) >= 2
for path in notebooks:
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    print("ok  ", path.name)
