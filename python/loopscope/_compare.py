"""Arrays by name against arrays by name: outputs against outputs, and what a model computed against the layers of another framework."""
import re

import numpy as np


def compare(got, want, rtol=1e-5, atol=1e-6):
    """Holds arrays by name against others: a list of rows, the worst first.

    Each row: name, equal (within |a - b| <= atol + rtol |b|; NaN equals NaN), max_abs, cosine, at (index of the largest difference), shape.
    Names that only one side has are left out; a shape that differs counts as not equal.
    """
    return _worst_first([_row(name, got[name], want[name], rtol, atol) for name in got if name in want])


def compare_layers(computed, layers, rtol=1e-5, atol=1e-6):
    """Holds values of a model, {name: array} or [(name, array)] in the order of the run, against a layer dump, {layer: array}.

    The layers of Keras and the modules of PyTorch (forward hooks: "features.0.conv") are found by their names among the parts of the
    values' names, whatever stands between (where none has them, without the numbers of copies): of those that fit the last one with as many
    elements. Where a framework keeps channels first,
    its axes are moved last. Rows as compare() has them, in the order of the dump, with `value`: the name of the model's value, None where
    none was found (`equal` is then False). Lists of arrays (TensorLists) are left out.
    """
    values = [(name, np.asarray(array)) for name, array in (computed.items() if hasattr(computed, "items") else computed)
              if not isinstance(array, list)]
    parts = [_parts(name) for name, _ in values]
    rows = []
    for layer, array in layers.items():
        array = np.asarray(array)
        wanted = _parts(layer)
        fitting = [k for k, (_, value) in enumerate(values) if value.size == array.size]
        found = [k for k in fitting if _holds(parts[k], wanted)]
        if not found:
            found = [k for k in fitting if _holds(list(map(_without_number, parts[k])), list(map(_without_number, wanted)))]
        if not found:
            rows.append({"name": layer, "value": None, "shape": array.shape, "equal": False, "max_abs": float("nan"), "cosine": float("nan"), "at": None})
            continue
        tried = [{**_row(layer, values[k][1], _laid_out(array, values[k][1].shape), rtol, atol), "value": values[k][0]} for k in found]
        rows.append(next((row for row in reversed(tried) if row["equal"]), tried[-1]))
    return rows


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
    """An array with channels first as one with channels last, where only that fits."""
    if array.shape == tuple(shape):
        return array
    if array.ndim >= 3 and np.moveaxis(array, 1, -1).shape == tuple(shape):
        return np.moveaxis(array, 1, -1)
    return array.reshape(shape)


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


def _worst_first(rows):
    return sorted(rows, key=lambda row: (row["equal"], -np.nan_to_num(row["max_abs"], nan=np.inf)))
