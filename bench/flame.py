"""Draws collapsed stacks, as `py-spy record --format raw` writes them, as a flame graph in a small SVG.

    python -m bench.propagation --mode hanse --count 300 --profile controller.raw
    python -m bench.flame controller.raw bench/propagation-flame.svg

The root is at the top. Frames are functions without their lines; what the event loop needs to call them is left out,
and so is what is too narrow to be seen.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

_WIDTH = 1200
_ROW = 17
_TOP = 40
_LETTER = 6.6
_NARROWEST = 0.0025
# Everything is called by the loop, asyncio's own or uvloop's; what calls the loop is the same for all.
_ROOTS = ("Handle._run", "Runner.run")
_WAITING = ("EpollSelector.select",)


@dataclass(slots=True)
class Frame:
    """A function in one place of the stacks: its samples, and what it called."""

    name: str
    samples: int = 0
    calls: dict[str, Frame] = field(default_factory=dict)

    def add(self, stack: Iterable[str], samples: int) -> None:
        """Count a stack below this frame."""
        self.samples += samples
        frame = self
        for name in stack:
            frame = frame.calls.setdefault(name, Frame(name))
            frame.samples += samples


def read_stacks(lines: Iterable[str]) -> Frame:
    """Return the tree of all stacks that were not merely waiting."""
    root = Frame("all")
    for line in lines:
        stack, _, samples = line.rpartition(" ")
        names = [_function(part) for part in stack.split(";")]
        if names[-1].partition(" ")[0] in _WAITING:
            continue
        places = [names.index(name) for root_name in _ROOTS for name in names if name.startswith(root_name)]
        root.add(names[places[0] + 1 :] if places else ["outside the loop", *names[-1:]], int(samples))
    return root


def _function(part: str) -> str:
    """Return `Cache.get (kube/cache.py)` of `Cache.get (hanse/kube/cache.py:12)`."""
    name, _, place = part.strip().partition(" (")
    file = place.rstrip(")").rpartition(":")[0] or place.rstrip(")")
    return f"{name} ({file.removeprefix('hanse/')})" if file else name


@dataclass(frozen=True, slots=True)
class Box:
    """One frame as it is drawn: where it begins, how wide it is, both as parts of the whole, and how deep."""

    frame: Frame
    begin: float
    share: float
    depth: int


def boxes(frame: Frame, whole: int, begin: float = 0.0, depth: int = 0) -> Iterator[Box]:
    """Yield the frames that are wide enough to be seen, the widest call of each first."""
    share = frame.samples / whole
    if share < _NARROWEST:
        return
    yield Box(frame, begin, share, depth)
    for call in sorted(frame.calls.values(), key=lambda call: (-call.samples, call.name)):
        yield from boxes(call, whole, begin, depth + 1)
        begin += call.samples / whole


def draw(root: Frame, title: str) -> str:
    """Return the flame graph as an SVG."""
    drawn = list(boxes(root, max(1, root.samples)))
    height = _TOP + _ROW * (max((box.depth for box in drawn), default=0) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="monospace"',
        ' font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="6" y="24" font-size="15">{escape(title)}</text>',
        *(_drawn(box) for box in drawn),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _drawn(box: Box) -> str:
    x, y, width = box.begin * _WIDTH, _TOP + box.depth * _ROW, box.share * _WIDTH
    letters = int(width / _LETTER)
    label = escape(box.frame.name[:letters]) if letters > 4 else ""
    told = f"{escape(box.frame.name)} {100 * box.share:.1f} %"
    text = f'<text x="{x + 2:.1f}" y="{y + 12}">{label}</text>' if label else ""
    rect = f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 1}" fill="{_colour(box.frame.name)}"/>'
    return f"<g><title>{told}</title>{rect}{text}</g>"


def _colour(name: str) -> str:
    """Give each file one warm colour."""
    shade = zlib.crc32(name.rpartition("(")[2].encode())
    return f"#{220 + shade % 36:02x}{140 + shade // 36 % 90:02x}{70 + shade // 4000 % 60:02x}"


def main() -> int:
    """Read stacks and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench.flame", description=__doc__)
    parser.add_argument("stacks", type=Path, help="collapsed stacks, as py-spy record --format raw writes them")
    parser.add_argument("svg", type=Path, help="where to write the picture")
    parser.add_argument("--title", default="hanse controller in the propagation bench, by processor time")
    args = parser.parse_args()
    root = read_stacks(args.stacks.read_text().splitlines())
    args.svg.write_text(draw(root, f"{args.title} ({root.samples:,} samples)"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
