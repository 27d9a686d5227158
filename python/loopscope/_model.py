"""Models as functions from arrays to arrays."""
import html
import os
import tempfile
from collections.abc import Mapping
from typing import NamedTuple, Tuple

import numpy as np

from . import _loopscope
from ._compare import compare_layers, names_of
from ._options import Sources, from_engine, options, words

_NUMPY = {"float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
          "complex128"}


class Port(NamedTuple):
    """One input or output of a model."""

    name: str
    type: str
    """As listings write it: "f32[1,?,3]"."""
    dtype: str
    """NumPy's name, or ours where NumPy has no such dtype: "bf16", "str"."""
    shape: Tuple[int, ...]
    """-1 where a dimension is unknown."""
    is_read: bool
    """False: nothing reads it, so it may be left out."""


def _ports(listed):
    return [Port(name, type_, dtype, tuple(shape), read) for name, type_, dtype, shape, read in listed]


def command(*line, check=True):
    """Runs a command of the program in this process, as after `loopscope` in a shell: `command("info", "model.tflite")`.

    Returns what it printed, as text. Errors: as the command's; with `check`, ExecutionError where its exit code is 1 (a difference, a
    refuted proof), else it is ignored.
    """
    code, out, err = _loopscope.run_command([str(word) for word in line])
    if check and code not in (0,):
        raise _loopscope.ExecutionError((err or out).decode(errors="replace").strip() or f"exit code {code}")
    return out.decode(errors="replace")


class Model:
    """A model of any format, ready to run. Variables and random numbers carry over from run to run; `reset()` begins anew.

    Keywords are options of the command line: `signature`, `profile` ("fast"), `backend`, `seed`, `max_steps`, `max_depth`, `threads`,
    `fetch`, `target`, `init`. Errors: BadFileError, UnsupportedError, UsageError.
    """

    def __init__(self, path, **given):
        self.path = os.fspath(path)
        self._options = options(**given)
        self._model = _loopscope.Model(self.path, self._options)
        self.inputs = _ports(self._model.inputs())
        self.outputs = _ports(self._model.outputs())
        self._exotic = {port.name: port for port in self.inputs if port.dtype not in _NUMPY}
        self._any_exotic = any(port.dtype not in _NUMPY for port in self.outputs)
        self._dtypes = {port.name: port.dtype for port in self.inputs}

    def run(self, inputs=None, **named):
        """Runs the model once: `run({"x": array})`, `run(np.load("x.npz"))` or `run(x=array)` gives {name: array}.

        An array must have the input's dtype and a shape that fits. From 32 KiB on, C-contiguous ones are read where they lie (they must not
        change while it runs), and outputs are the memory that the model computed them in, which is then theirs: nothing is copied. Numbers
        and lists take the input's dtype; a text is a source as after `-i NAME=` ("@7", "in.npy"). Errors: UsageError (a name, dtype or
        shape), ExecutionError (with the address of the operator). Other threads of Python run meanwhile.
        """
        if not named and not self._exotic and type(inputs) is dict:
            for value in inputs.values():
                if type(value) is not np.ndarray:
                    break
            else:  # the way that a small model is called again and again
                outputs = self._model.run(inputs)
                return {name: from_engine(value) for name, value in outputs.items()} if self._any_exotic else outputs
        if inputs is not None and not isinstance(inputs, Mapping):
            raise TypeError(f"inputs: found {type(inputs).__name__}, expected a dictionary of name to array")
        given = {**(inputs or {}), **named}
        for name, value in given.items():
            if name in self._exotic:
                given[name] = self._stored(value)
            elif not isinstance(value, (np.ndarray, str)):
                given[name] = self._array(name, value)
        outputs = self._model.run(given)
        return {name: from_engine(value) for name, value in outputs.items()} if self._any_exotic else outputs

    __call__ = run

    def _array(self, name, value):
        if value is None:
            raise _loopscope.UsageError(f"input '{name}': found None, expected an array")
        try:
            return np.asarray(value, dtype=None if isinstance(value, np.generic) else self._dtypes.get(name))
        except (TypeError, ValueError, OverflowError) as wrong:
            raise _loopscope.UsageError(f"input '{name}': {wrong}") from wrong

    @staticmethod
    def _stored(value):
        import io
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        if array.dtype.kind in "UO":
            array = np.asarray([one.encode() if isinstance(one, str) else one for one in array.ravel()], dtype=bytes).reshape(array.shape)
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    def reset(self):
        """Variables, tables and random numbers are as before the first run."""
        self._model.reset()

    def listing(self, structured=False):
        """The model as text; `structured`: as a short program, bodies of loops and branches inline."""
        return self._model.listing(structured)

    def info(self):
        """What `loopscope info` says."""
        return command("info", self.path)

    def svg(self, graph=None, expand=()):
        """The picture of the graph, loops and branches drawn inside; `expand` opens calls and groups ("all", an address)."""
        return self._picture("svg", graph, expand).decode()

    def png(self, graph=None, expand=()):
        """The same as bytes of a PNG file."""
        return self._picture("png", graph, expand)

    def _picture(self, form, graph, expand):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph." + form)
            command("export-graph", self.path, "-o", path, *words(options(graph=graph, expand=list(expand) if not isinstance(expand, str) else expand)))
            with open(path, "rb") as file:
                return file.read()

    def trace(self, inputs=None, path=None, *, level="values", overwrite=True, **given):
        """Runs the model and records what every operator and iteration computed; a `Trace`. Without `path` into a temporary file.

        `level`: control, statistics, hashes, values, all. Further keywords are options of `loopscope trace`.
        """
        from ._trace import Trace
        sources = Sources(inputs)
        owned = None
        if path is None:
            owned = tempfile.TemporaryDirectory(prefix="loopscope-")
            path = os.path.join(owned.name, "run.lstrace")
        line = ["trace", self.path, "-o", os.fspath(path), "--level", level]
        for text in sources.texts:
            line += ["-i", text]
        if overwrite:
            line.append("--force")
        command(*line, *words({**{k: v for k, v in self._options.items()}, **options(**given)}))
        return Trace(path, _owned=owned)

    def values(self, inputs=None, **given):
        """Runs the model and gives {name: array} of everything that its operators computed, in the order of the run; what loops computed
        again and again as it was last. Keywords are options of `loopscope trace`. Errors: as run()."""
        return self.trace(inputs, keep="...", **given).values()

    def compare(self, inputs, layers, rtol=1e-5, atol=1e-6):
        """Runs the model and holds it against a layer dump of another framework on the same inputs, {layer: array}: `compare_layers`."""
        return compare_layers(self.values(inputs), layers, rtol, atol, names_of(self.listing()))

    def session(self, inputs=None, **given):
        """A debugger on this model: `Session(model.path, inputs, …)` with this model's options."""
        from ._session import Session
        return Session(self.path, inputs, _options=self._options, **given)

    def _repr_svg_(self):
        return self.svg()

    def _repr_html_(self):
        rows = "".join(f"<tr><td>{html.escape(p.name)}</td><td><code>{html.escape(p.type)}</code></td><td>{kind}</td></tr>"
                       for kind, ports in (("input", self.inputs), ("output", self.outputs)) for p in ports)
        return f"<b>{html.escape(os.path.basename(self.path))}</b><table>{rows}</table>{self.svg()}"

    def __repr__(self):
        ins = ", ".join(f"{p.name}: {p.type}" for p in self.inputs)
        outs = ", ".join(f"{p.name}: {p.type}" for p in self.outputs)
        return f"<loopscope.Model {os.path.basename(self.path)}: ({ins}) -> {outs}>"


def load(path, **given):
    """Opens a model: .tflite, .circle, .pb, .pbtxt, .lsir, a SavedModel folder. See `Model`."""
    return Model(path, **given)
