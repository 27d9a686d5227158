"""Arrays by name against arrays by name: outputs against outputs, and what a model computed against the layers of another framework."""
import re

import numpy as np


def compare(got, want, rtol=1e-5, atol=1e-6):
    """Holds arrays by name against others: a list of rows, the worst first.

    Each row: name, equal (within |a - b| <= atol + rtol |b|; NaN equals NaN), max_abs, cosine, at (index of the largest difference), shape.
    Names that only one side has are left out; a shape that differs counts as not equal.
    """
    return _worst_first([_row(name, got[name], want[name], rtol, atol) for name in got if name in want])


def compare_layers(computed, layers, rtol=1e-5, atol=1e-6, names=None):
    """Holds values of a model, {name: array} or [(name, array)] in the order of the run, against a layer dump, {layer: array}.

    The layers of Keras and the modules of PyTorch (forward hooks: "features.0.conv") are found by their names among the parts of the
    values' names, whatever stands between (where none has them, without the numbers of copies), else among those of the weights that their
    operators read: of those that fit the last one with as many elements. Where a framework keeps channels first, its axes are moved last.
    Rows as compare() has them, in the order of the dump, with `value`: the name of the model's value, None where none was found (`equal` is
    then False), and `fused_into`: the value that the layer became a part of, so that its own output is nowhere. Lists of arrays (TensorLists)
    are left out. `names`: what else the values are called, {name: `Names`}; `model.compare` and `trace.compare` know it.
    """
    values = [(name, np.asarray(array)) for name, array in (computed.items() if hasattr(computed, "items") else computed)
              if not isinstance(array, list)]
    known = [(names or {}).get(name, Names(name)) for name, _ in values]
    rows = []
    for layer, array in layers.items():
        array = _plain(array)
        wanted = _parts(layer)
        fitting = [k for k, (_, value) in enumerate(values) if value.size == array.size]
        found = _holding(wanted, [(k, [values[k][0], *known[k].own]) for k in fitting])
        fused = [] if found else _holding(wanted, [(k, known[k].merged) for k in range(len(values))])
        if not found and not fused:
            found = _holding(wanted, [(k, known[k].weights) for k in fitting])
        if not found:
            rows.append({"name": layer, "value": None, "shape": array.shape, "equal": False, "max_abs": float("nan"), "cosine": float("nan"),
                         "at": None, "fused_into": values[fused[-1]][0] if fused else None})
            continue
        tried = [{**min((_row(layer, values[k][1], way, rtol, atol) for way in _laid_out(array, values[k][1].shape)), key=_badness),
                  "value": values[k][0], "fused_into": None} for k in found]
        rows.append(next((row for row in reversed(tried) if row["equal"]), tried[-1]))
    return rows


class Names:
    """What a value is called: by the file (`own`), what was fused into it (`merged`), the constants that its operator reads (`weights`)."""

    def __init__(self, full_name="", weights=()):
        first, *merged = full_name.split(";")
        self.own, self.merged, self.weights = [first], merged, list(weights)


def names_of(listing):
    """{value: `Names`} of a listing: its blocks of names, and the operands of its operators."""
    full, read = {}, {}
    is_named = False
    for line in listing.splitlines():
        if not line.startswith(" "):
            is_named = line.startswith("names ")
        elif is_named:
            if found := re.match(r'\s+("(?:[^"\\]|\\.)*"|\S+)\s+= "((?:[^"\\]|\\.)*)"$', line):
                full[found[1].strip('"')] = found[2]
        elif found := re.match(r"\s+([^=(]+?)\s+= \w+\(([^)]*)\)", line):
            for result in found[1].split(", "):
                read[result.strip('"')] = [one.strip('"') for one in found[2].split(", ")]
    return {value: Names(full.get(value, value), [full.get(one, one) for one in read.get(value, []) if one not in read])
            for value in {**full, **read}}


def _plain(array):
    """Tensors of PyTorch that are part of its graph or lie on a device, too."""
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


def _holding(wanted, candidates):
    """Of [(key, names)] the keys of those that have a name with these parts: as they are, else without the numbers of copies."""
    parted = [(key, [_parts(name) for name in names]) for key, names in candidates]
    found = [key for key, names in parted if any(_holds(parts, wanted) for parts in names)]
    plain = list(map(_without_number, wanted))
    return found or [key for key, names in parted if any(_holds(list(map(_without_number, parts)), plain) for parts in names)]


def _parts(name):
    return [part for part in re.split(r"[/.;:]+", str(name)) if part]


def _without_number(part):
    """A layer's name without the number that tells its copies apart: Keras exports `lstm` as `sequential_1/lstm_1`."""
    return re.sub(r"_\d+$", "", part)


def _holds(parts, wanted):
    """Whether the parts of a layer's name stand in those of a value's, in their order."""
    rest = iter(parts)
    return all(any(part == one for one in rest) for part in wanted)


def _laid_out(array, shape):
    """The ways to read an array in that shape: as it is, and with its channels moved from first to last; at least one."""
    ways = [array] if array.shape == tuple(shape) else []
    if array.ndim >= 3 and np.moveaxis(array, 1, -1).shape == tuple(shape):
        ways.append(np.moveaxis(array, 1, -1))
    return ways or [array.reshape(shape)]


def _row(name, got, want, rtol, atol):
    a, b = np.asarray(got), np.asarray(want)
    row = {"name": name, "shape": a.shape, "equal": False, "max_abs": float("nan"), "cosine": float("nan"), "at": None}
    if a.shape != b.shape or a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc":
        row["equal"] = a.shape == b.shape and bool(np.all(a == b))
        return row
    wide = complex if "c" in a.dtype.kind + b.dtype.kind else float
    x, y = a.astype(wide), b.astype(wide)
    both = (x == y) | (np.isnan(x) & np.isnan(y))
    difference = np.where(both, 0, np.abs(x - np.where(both, 0, y)))
    row["equal"] = bool(np.all(both | (difference <= atol + rtol * np.abs(y))))
    if a.size:
        worst = int(np.nanargmax(difference)) if np.any(~np.isnan(difference)) else 0
        row["max_abs"] = float(difference.ravel()[worst])
        row["at"] = tuple(int(i) for i in np.unravel_index(worst, a.shape))
        norm = float(np.linalg.norm(x.ravel()) * np.linalg.norm(y.ravel()))
        row["cosine"] = float(abs(np.vdot(x.ravel(), y.ravel())) / norm) if norm > 0 else 1.0
    return row


def _badness(row):
    return (not row["equal"], np.nan_to_num(row["max_abs"], nan=np.inf))


def _worst_first(rows):
    return sorted(rows, key=lambda row: (row["equal"], -np.nan_to_num(row["max_abs"], nan=np.inf)))
