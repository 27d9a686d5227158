"""Keyword arguments as options of the command line, and arrays as its sources."""
import io
import os
import re
import tempfile

import numpy as np


def options(**given):
    """`max_steps=10` is `--max-steps 10`; None is left out, lists repeat an option."""
    made = {}
    for name, value in given.items():
        if value is None or value is False:
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        made[name.replace("_", "-")] = ["" if one is True else str(one) for one in values]
    return made


def words(made):
    """The same as words of a command line."""
    return [word for name, values in made.items() for value in values for word in (["--" + name] if value == "" else ["--" + name, value])]


def from_engine(value):
    """What the engine handed over: an array, the bytes of an .npy file of a dtype that NumPy lacks, or the parts of a list of tensors."""
    if isinstance(value, dict):
        return with_lists({name: from_engine(part) for name, part in value.items()}).get("", [])
    return np.load(io.BytesIO(value)) if isinstance(value, bytes) else value


def with_lists(arrays):
    """Arrays by name, of which `list[0]`, `list[1]`, … are the elements of one list (`list[]`: of none); lists may lie in lists."""
    made = {}
    for name, array in arrays.items():
        begin = name.find("[")
        if begin < 0:
            made[name] = array
            continue
        place = made.setdefault(name[:begin], [])
        *outer, last = re.findall(r"\[(\d*)\]", name[begin:])
        for index in outer:
            place.extend([] for _ in range(len(place), int(index) + 1))
            place = place[int(index)]
        if last:
            place.extend([] for _ in range(len(place), int(last) + 1))
            place[int(last)] = array
    return made


class Sources:
    """Inputs as sources `NAME=SOURCE`: texts stay as they are, arrays become files in a folder that lives as long as this does."""

    def __init__(self, inputs):
        self._folder = None
        self.texts = [f"{self._name(name)}={self.source(value)}" for name, value in (inputs or {}).items()]

    @staticmethod
    def _name(name):
        return f'"{name}"' if set(name) & set('=" ') else name

    def source(self, value):
        if isinstance(value, str):
            return value
        if isinstance(value, (bool, np.bool_)):
            return "true" if value else "false"
        if isinstance(value, (int, float, np.integer, np.floating)):
            return repr(value.item() if isinstance(value, np.generic) else value)
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="loopscope-")
        path = os.path.join(self._folder.name, f"{len(os.listdir(self._folder.name))}.npy")
        np.save(path, np.asarray(value))
        return path
