"""Tensors as pictures: a heat map or a curve with the statistics beside it, drawn as SVG without any library."""
import html

import numpy as np

_MOST = 64
"""Cells of a heat map in each direction; larger tensors are thinned out."""


def _number(value):
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


class Picture:
    """An array as Jupyter shows it. Matrices are heat maps (blue below zero, red above), vectors are curves; of more dimensions the first
    matrix is drawn. NaN and infinities are violet. `print()` shows the statistics."""

    def __init__(self, array, name=""):
        self.array, self.name = np.asarray(array), name

    def statistics(self):
        """{"min": …, "max": …, "mean": …, "std": …, "zeros": …, "nan": …, "inf": …}; of an array without numbers {}."""
        array = self.array
        if array.dtype.kind not in "biuf" or array.size == 0:
            return {}
        finite = array[np.isfinite(array)].astype(float)
        made = {"min": finite.min(), "max": finite.max(), "mean": finite.mean(), "std": finite.std()} if finite.size else {}
        return {**made, "zeros": int((array == 0).sum()), "nan": int(np.isnan(array).sum()), "inf": int(np.isinf(array).sum())}

    def _thinned(self, array):
        steps = tuple(slice(None, None, -(-size // _MOST)) for size in array.shape)
        return array[steps]

    def _repr_svg_(self):
        array = self.array
        if array.dtype.kind not in "biuf" or array.size == 0:
            return None
        while array.ndim > 2:
            array = array[0]
        array = self._thinned(array if array.ndim else array.reshape(1)).astype(float)
        finite = array[np.isfinite(array)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        return self._curve(array, low, high) if array.ndim == 1 and array.size > 1 else self._map(np.atleast_2d(array), low, high)

    @staticmethod
    def _curve(values, low, high):
        width, height, span = 480, 120, high - low or 1
        places = [(k * (width - 8) / (len(values) - 1) + 4, height - 4 - (v - low) * (height - 8) / span) for k, v in enumerate(values)]
        parts, line = [], []
        for (x, y), value in zip(places, values):
            if np.isfinite(value):
                line.append(f"{x:.1f},{y:.1f}")
                continue
            parts.append(f'<rect x="{x - 1:.1f}" y="0" width="2" height="{height}" fill="#a020c0"/>')
            line.append("")
        for run in " ".join(line).split("  "):
            points = run.split()
            if len(points) == 1:
                x, y = points[0].split(",")
                parts.append(f'<circle cx="{x}" cy="{y}" r="1.5" fill="#2060c0"/>')
            elif points:
                parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#2060c0"/>')
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{"".join(parts)}</svg>'

    @staticmethod
    def _map(matrix, low, high):
        cell = max(4, min(24, 480 // max(matrix.shape)))
        most = max(abs(low), abs(high)) or 1
        parts = []
        for (row, column), value in np.ndenumerate(matrix):
            if np.isfinite(value):
                pale = 255 - int(215 * abs(value) / most)
                colour = f"#{pale:02x}{pale:02x}ff" if value < 0 else f"#ff{pale:02x}{pale:02x}"
            else:
                colour = "#a020c0"
            parts.append(f'<rect x="{column * cell}" y="{row * cell}" width="{cell}" height="{cell}" fill="{colour}"><title>'
                         f"[{row},{column}] {_number(float(value))}</title></rect>")
        rows, columns = matrix.shape
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * cell}" height="{rows * cell}">{"".join(parts)}</svg>'

    def _repr_html_(self):
        array = self.array
        head = f"<b>{html.escape(self.name)}</b> <code>{array.dtype}{list(array.shape)}</code>"
        facts = ", ".join(f"{name} {_number(value)}" for name, value in self.statistics().items())
        return f"{head}<br>{facts}<br>{self._repr_svg_() or '<pre>' + html.escape(str(array)) + '</pre>'}"

    def __repr__(self):
        facts = "  ".join(f"{name} {_number(value)}" for name, value in self.statistics().items())
        return f"{self.name or 'array'}: {self.array.dtype}{list(self.array.shape)}  {facts}".rstrip()


def picture(array, name=""):
    """An array as a picture in Jupyter: a heat map or a curve, with its statistics."""
    return Picture(array, name)
