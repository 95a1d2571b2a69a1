"""Draws how costs grow with the number of clusters, from scale.jsonl into scale.svg.

    python -m bench.scale_plot

Both axes are logarithmic: a line that rises by one square for each to the right grows as the number of clusters does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bench.scale_records import RECORDS, Cells, read_records

SVG = Path(__file__).parent / "scale.svg"
_SIDE, _GAP, _MARGIN, _TOP = 260, 80, 60, 60
_COLOURS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b8860b")
_MEASURES = (("cpu_seconds", "CPU seconds"), ("peak_mb", "peak MB"), ("idle_percent", "at rest, % of a core"))


@dataclass(frozen=True, slots=True)
class Curve:
    """What one subject took at several numbers of clusters."""

    name: str
    points: tuple[tuple[float, float], ...]


def curves(records: Sequence[Cells], measure: str) -> list[Curve]:
    """Return a curve for each subject that was measured at two or more sizes alike but for the number of clusters."""
    found: dict[str, list[tuple[float, float]]] = {}
    for cells in records:
        found.setdefault(_name(cells), []).append((float(cells["clusters"]), float(cells[measure])))
    return [Curve(name, tuple(sorted(points))) for name, points in found.items() if len(points) > 1]


def _name(cells: Cells) -> str:
    if cells["subject"] == "restart":
        return f"hanse up started again, {cells['nodes']} nodes and {cells['pods']} pods a cluster"
    return f"control plane, {cells['phase']}, {cells['objects']} objects"


def draw(records: Sequence[Cells]) -> str:
    """Return the plot as an SVG, one square for each measure."""
    names = list(dict.fromkeys(curve.name for measure, _ in _MEASURES for curve in curves(records, measure)))
    colours = dict(zip(names, _COLOURS * (1 + len(names) // len(_COLOURS)), strict=False))
    width = 2 * _MARGIN + len(_MEASURES) * _SIDE + (len(_MEASURES) - 1) * _GAP
    height = _TOP + _SIDE + 60 + 18 * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"',
        ' font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text x="60" y="24" font-size="16">How costs grow with the number of clusters</text>',
    ]
    for place, (measure, title) in enumerate(_MEASURES):
        parts += _square(curves(records, measure), title, _MARGIN + place * (_SIDE + _GAP), colours)
    for place, name in enumerate(names):
        y = _TOP + _SIDE + 54 + 18 * place
        parts.append(f'<rect x="{_MARGIN}" y="{y - 9}" width="24" height="4" fill="{colours[name]}"/>')
        parts.append(f'<text x="{_MARGIN + 32}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _square(drawn: Sequence[Curve], title: str, left: float, colours: dict[str, str]) -> list[str]:
    points = [point for curve in drawn for point in curve.points]
    across, up = _decades([x for x, _ in points]), _decades([y for _, y in points])

    def x_of(value: float) -> float:
        return left + _SIDE * _part(value, across)

    def y_of(value: float) -> float:
        return _TOP + _SIDE * (1 - _part(value, up))

    parts = [f'<text x="{left}" y="{_TOP - 12}">{escape(title)}</text>']
    for power in range(across[0], across[1] + 1):
        x = x_of(10.0**power)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_TOP + _SIDE}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{_TOP + _SIDE + 16}" text-anchor="middle">{10**power:,}</text>')
    for power in range(up[0], up[1] + 1):
        y = y_of(10.0**power)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + _SIDE}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>')
    parts.append(f'<text x="{left + _SIDE / 2}" y="{_TOP + _SIDE + 32}" text-anchor="middle">clusters</text>')
    for curve in drawn:
        colour = colours[curve.name]
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in curve.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"><title>{x:g}: {y:g}</title></circle>'
            for x, y in curve.points
        ]
    return parts


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten between which all values are."""
    logs = [math.log10(max(value, 0.1)) for value in values] or [0.0]
    low = math.floor(min(logs))
    return low, max(math.ceil(max(logs)), low + 1)


def _part(value: float, powers: tuple[int, int]) -> float:
    return (math.log10(max(value, 0.1)) - powers[0]) / (powers[1] - powers[0])


def main() -> int:
    """Draw what was recorded last of every size."""
    SVG.write_text(draw(read_records(RECORDS.read_text().splitlines())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
