"""Recordings: what every operator and iteration of a run computed, in one SQLite file."""
import json
import os
import tempfile

import numpy as np

from ._compare import compare_layers, names_of
from ._model import command
from ._options import options, with_lists, words


class Trace:
    """A recording. `query()` asks it; `session()` steps through it without running the model."""

    def __init__(self, path, _owned=None):
        self.path = os.fspath(path)
        self._owned = _owned  # the temporary folder that it lies in
        self.info()

    def info(self):
        """What `loopscope info` says. Errors: BadFileError."""
        return command("info", self.path)

    def rows(self, what, limit=0, **parameters):
        """Rows of a recipe ("first-nan", "branch-counts") or of an SQL text, as dictionaries; keywords fill `:parameters`."""
        said = command("query", self.path, what, "--json", "--limit", str(limit), *words(options(**parameters)))
        return [json.loads(line) for line in said.splitlines() if line.strip()]

    def query(self, what, **parameters):
        """The same as a pandas DataFrame where pandas is installed, else as a list of dictionaries."""
        rows = self.rows(what, **parameters)
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows)

    def recipes(self):
        """{name: question} of the recipes that `query` takes."""
        return {one["name"]: one["question"] for one in map(json.loads, command("query", "--list", "--json").splitlines())}

    def to_parquet(self, what, path, **parameters):
        """Writes an answer as Parquet; needs pandas and pyarrow."""
        import pandas
        pandas.DataFrame(self.rows(what, **parameters)).to_parquet(path)

    def arrays(self, pattern=None):
        """{address: array} of the stored values, all or those that a pattern matches (".../add#*"), in the order of the run. A TensorList is
        a list of arrays; an element that was not set is an array of no element. Handles of resources are left out.

        Level `values` stores outputs, what loops carry and NaN; with `keep="..."` when it is recorded all.
        """
        with tempfile.TemporaryDirectory(prefix="loopscope-") as folder:
            path = os.path.join(folder, "values.npz")
            command("export", self.path, *([pattern] if pattern else []), "-o", path)
            with np.load(path) as stored:
                return with_lists({name: stored[name] for name in stored.files})

    def values(self):
        """{name: array} of the stored values by their names in the model, of each the last one, in the order of the run; lists as of arrays()."""
        arrays, named = self.arrays(), {}
        for row in self.rows("SELECT address, value FROM value_history ORDER BY step, address"):
            if row["address"] in arrays:
                name = row["value"] or row["address"]
                named.pop(name, None)  # the last one counts, and stands where it was written
                named[name] = arrays[row["address"]]
        return named

    def compare(self, layers, rtol=1e-5, atol=1e-6):
        """Holds the stored values against a layer dump of another framework, {layer: array}: `compare_layers`."""
        return compare_layers(self.values(), layers, rtol, atol, names_of(command("list", self.path)))

    def diff(self, other, **given):
        """What `loopscope diff` says of this recording and another one."""
        return command("diff", self.path, getattr(other, "path", other), *words(options(**given)), check=False)

    def session(self, **given):
        """A debugger on the recording."""
        from ._session import Session
        return Session(self.path, **given)

    def __repr__(self):
        return f"<loopscope.Trace {self.path}>"
