"""The debugger: everything that docs/debugging.md tells of, with arrays instead of text where that is better."""
import html
import os
from typing import List, NamedTuple, Tuple

import numpy as np

from . import _loopscope
from ._options import Sources, from_engine, options
from ._picture import Picture


class Stop(NamedTuple):
    """Where a run stands."""

    reasons: Tuple[str, ...]
    """"breakpoint 1", "NaN (gain)", "step done", "finished", …"""
    address: str
    """Of the operator that comes next: "main/while#0@37:body/if#2"."""
    step: int
    iteration: int
    """Of the innermost loop; -1: none."""
    finished: bool
    timeline: int
    frames: Tuple[str, ...]
    """Addresses of the invocations, outermost first."""
    breakpoints: Tuple[int, ...]
    """Numbers of those that stopped here."""

    def __repr__(self):
        return f"Stop({'; '.join(self.reasons) or 'here'} at {self.address}, step {self.step})"


class Breakpoint(NamedTuple):
    """One breakpoint, watch or log point."""

    number: int
    spec: str
    hits: int
    enabled: bool


class Session:
    """A model or a recording that is debugged, forwards and backwards.

    `inputs` are arrays, numbers, or sources as after `-i NAME=` ("@7", "in.npy"). Keywords are options of `loopscope debug`: `signature`,
    `against` (a reference), `rtol`, `atol`, `cosine`, `seed`, `profile`, `max_steps`, … Moves answer with a `Stop`; errors leave the run
    where it stood. Ctrl-C pauses what runs and raises KeyboardInterrupt; the session lives on. Use it from one thread at a time.
    """

    def __init__(self, path, inputs=None, *, _options=None, **given):
        self._sources = Sources(inputs)
        made = {**(_options or {}), **options(**given)}
        if self._sources.texts:
            made["input"] = self._sources.texts
        self._session = _loopscope.Session(os.fspath(path), made)
        self._deciders = {}
        self._files = []

    # Commands.

    def command(self, line):
        """A line as typed at the debugger's prompt; what it said. Everything that has no method here: `command("info loop")`."""
        if "\n" in line:
            raise _loopscope.UsageError("one line at a time")
        return self._session.execute(line)

    @property
    def stop(self):
        """Where it stands; None before the first run."""
        told = self._session.stop()
        if told is None:
            return None
        return Stop(tuple(told["reasons"]), told["address"], told["step"], told["iteration"], told["finished"], told["timeline"],
                    tuple(told["frames"]), tuple(told["breakpoints"]))

    # Movement.

    def _move(self, line, again):
        """Moves, and goes on with `again` where a breakpoint's function says so."""
        self._session.execute(line)
        while True:
            stop = self.stop
            deciders = [self._deciders.get(number) for number in stop.breakpoints]
            if not deciders or stop.finished or any(decide is None or decide(self) for decide in deciders):
                return stop
            self._session.execute(again)

    def run(self, inputs=None):
        """Begins a run, with other inputs where they are given, and goes on to the first stop."""
        self._files.append(Sources(inputs))
        for text in self._files[-1].texts:
            self._session.execute("input " + text)
        return self._move("run", "continue")

    def start(self, inputs=None):
        """Begins a run and stops before the first operator."""
        self._files.append(Sources(inputs))
        for text in self._files[-1].texts:
            self._session.execute("input " + text)
        return self._plain("start")

    def _plain(self, line):
        self._session.execute(line)
        return self.stop

    def resume(self):
        """To the next breakpoint, or the end."""
        return self._move("continue", "continue")

    def resume_back(self):
        """Back to the last breakpoint, or the start."""
        return self._move("reverse-continue", "reverse-continue")

    def step(self, count=1):
        """`count` operators, into calls."""
        return self._plain(f"step {int(count)}")

    def next(self, count=1):
        """`count` operators of this graph, over calls."""
        return self._plain(f"next {int(count)}")

    def back(self, count=1):
        """`count` operators back, into calls."""
        return self._plain(f"reverse-step {int(count)}")

    def next_back(self, count=1):
        """`count` operators of this graph back, over calls."""
        return self._plain(f"reverse-next {int(count)}")

    def finish(self):
        """To the return of this invocation."""
        return self._plain("finish")

    def finish_back(self):
        """Back before the call of this invocation."""
        return self._plain("reverse-finish")

    def until(self, place=""):
        """Past the end of the innermost loop, or to a place."""
        return self._plain(f"until {place}".strip())

    def advance(self, pattern):
        """To the next operator that a pattern matches: "if#2", ".../add#*"."""
        return self._plain(f"advance {pattern}")

    def goto(self, place):
        """Time travel: an address, "step:276", "50%", "start", "end", a mark."""
        return self._plain(f"goto {place}")

    def iteration(self, number):
        """The same operator in another iteration of the innermost loop: a number, or "last"."""
        return self._plain(f"iter {number}")

    # Breakpoints.

    def break_at(self, spec, when=None):
        """A breakpoint: `spec` is what `break` takes: an address or pattern, "type conv_2d", "nan", "iter while#0 37".

        `when` is an expression ("iter == 37"), or a function that is called with the session at each hit and says whether to stop there.
        Gives the breakpoint's number. Errors: UsageError.
        """
        return self._add("break", spec, when)

    def watch(self, value, when=None):
        """Stops after a write that changes the value; `when` as of break_at."""
        return self._add("watch", value, when)

    def log(self, spec, text):
        """A log point: `text` may hold `$(expression)`. What it says comes with the command that passes it."""
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        return self._add("log", f'{spec} "{quoted}"', None)

    def _add(self, kind, spec, when):
        before = {one.number for one in self.breakpoints()}
        self._session.execute(f"{kind} {spec}" + (f" if {when}" if isinstance(when, str) else ""))
        number = max(one.number for one in self.breakpoints() if one.number not in before)
        if callable(when):
            self._deciders[number] = when
        return number

    def breakpoints(self) -> List[Breakpoint]:
        """All of them, with their hits."""
        return [Breakpoint(one["number"], one["spec"], one["hits"], one["enabled"]) for one in self._session.breakpoints()]

    def delete(self, number=None):
        """One breakpoint, or all."""
        self._session.execute("delete" if number is None else f"delete {int(number)}")
        self._deciders = {} if number is None else {k: v for k, v in self._deciders.items() if k != number}

    # Values.

    def evaluate(self, expression, frame=-1):
        """An expression of docs/expressions.md in a frame (-1: innermost, 0: root): an array, a text, or None where there is no value.

        A list of expressions gives a tuple. Errors: UsageError with line and column.
        """
        values = [from_engine(one) for one in self._session.evaluate(expression, frame)]
        return values[0] if len(values) == 1 else tuple(values)

    __getitem__ = evaluate

    def set(self, place, value):
        """Edits a value, an element or a slice: `set("acc[0]", 3)`; an array replaces it whole, a text is an expression.

        From here the run goes on in a timeline of its own. Errors: UsageError.
        """
        if isinstance(value, str):
            text = value
        elif np.ndim(value) == 0:
            text = Sources({}).source(np.asarray(value)[()])
        else:
            self._files.append(Sources({"value": np.asarray(value)}))
            text = f'file("{self._files[-1].texts[0].split("=", 1)[1]}")'
        self._session.execute(f"set {place} = {text}")
        return self.stop

    __setitem__ = set

    def history(self, value):
        """The value over the iterations of the innermost loop, as an array of numbers (of tensors: their means); NaN where there is none.

        "var:NAME" is a variable of the session: what it holds as each iteration begins.
        """
        return self._session.history(value)[1]

    def print(self, expression):
        """As the debugger's `print` shows it."""
        return self.command(f"print {expression}").rstrip("\n")

    def picture(self, expression):
        """A value as Jupyter shows it: a heat map or a curve, with its statistics. Errors: UsageError."""
        return Picture(self.evaluate(expression), expression)

    def why(self, question=""):
        """Where something came from: "nan gain", "loop", "branch", "acc[0]"."""
        return self.command(f"why {question}".strip())

    def drift(self):
        """How far the whole run is from its reference (`against=`), layer by layer."""
        return self.command("drift")

    def record(self, path, level="statistics"):
        """From the next run on; `record_off()` ends it."""
        return self.command(f"record on {os.fspath(path)} {level} --force")

    def record_off(self):
        """Ends the recording; a `Trace` reads it."""
        return self.command("record off")

    def _repr_html_(self):
        stop = self.stop
        if stop is None:
            return "<i>not started</i>"
        listing = html.escape(self.command("list"))
        return f"<b>{html.escape('; '.join(stop.reasons))}</b> <code>{html.escape(stop.address)}</code>, step {stop.step}<pre>{listing}</pre>"

    def __repr__(self):
        return f"<loopscope.Session {self.stop or 'not started'}>"
