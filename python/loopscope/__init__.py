"""Loopscope: models as NumPy functions, and the stepping, time-travelling debugger for them.

    import loopscope
    model = loopscope.load("samples/text/collatz.lsir")
    model.run({"x": 27})                       # {"n": array(1), "steps": array(111)}

    session = loopscope.Session("samples/text/collatz.lsir", inputs={"x": 27})
    session.break_at(".../if#2", when="iter == 37")
    session.run()                              # Stop(breakpoint 1 at main/while#0@37:body/if#2, step 242)
    session["n"]                               # array(593)
    session.back()

Errors are exceptions with the message of the command line: `UsageError` (also a ValueError), `BadFileError`, `CannotWriteError` and
`DeviceError` (also OSError), `UnsupportedError` (also NotImplementedError), `ExecutionError`, `CancelledError`, `InternalError`; all of them
are `loopscope.Error`. Ctrl-C stops what runs and raises KeyboardInterrupt. docs/python.md is the guide.
"""
from ._loopscope import (
    BadFileError,
    CancelledError,
    CannotWriteError,
    DeviceError,
    Error,
    ExecutionError,
    InternalError,
    UnsupportedError,
    UsageError,
    __version__,
)
from ._compare import compare, compare_layers
from ._model import Model, Port, command, load
from ._picture import Picture, picture
from ._session import Breakpoint, Session, Stop
from ._trace import Trace

__all__ = [
    "BadFileError", "Breakpoint", "CancelledError", "CannotWriteError", "DeviceError", "Error", "ExecutionError", "InternalError", "Model",
    "Picture", "Port", "Session", "Stop", "Trace", "UnsupportedError", "UsageError", "__version__", "command", "compare", "compare_layers",
    "load", "picture",
]
