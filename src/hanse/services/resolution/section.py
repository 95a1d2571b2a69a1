"""Hanse's part of a Corefile that is somebody else's: marked, so that it can be renewed and taken out again."""

from __future__ import annotations

_BEGIN = "# hanse: begin (written by `hanse dns cluster-config`; what stands between these lines is replaced)"
_END = "# hanse: end"


def with_section(corefile: str, part: str) -> str:
    """Return the Corefile with this part at its end, in place of an earlier one."""
    rest = without_section(corefile).rstrip("\n")
    return "\n".join([*([rest] if rest else []), _BEGIN, part.rstrip("\n"), _END, ""])


def without_section(corefile: str) -> str:
    """Return the Corefile as its owner wrote it; raises ValueError where an end is missing."""
    kept, inside = [], False
    for line in corefile.splitlines():
        if line.strip() == _BEGIN:
            inside = True
        elif line.strip() == _END and inside:
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise ValueError(f"the line {_END!r} is missing in it; put it back after Hanse's part, or take that part out")
    return "\n".join([*kept, ""]) if kept else ""
