"""The order of an answer's records: by rank for the asker, within a rank by chance in the proportion of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hanse.services.dns.types import Type
from hanse.services.dns.zone import Entry, Records
from hanse.services.geography.atlas import View

# Where in a record's bytes after its name an SRV's priority is.
_PRIORITY = slice(10, 12)
# A plain number is compared in a third of the time.
_SRV = int(Type.SRV)

Uniform = Callable[[float, float], float]
# What `arranged` is for one asker.
Arrange = Callable[[Records], Sequence[bytes]]


def arranged(view: View, uniform: Uniform, records: Records) -> Sequence[bytes]:
    """Return the records as they are sent to an asker; those of its own cluster lead to the address inside of it.

    Of numbers drawn between 0 and 1 and raised to the power of 1/weight the greatest is each one's in the proportion
    of the weights (Efraimidis and Spirakis). Clients of SRV records go by their priorities and not by their order:
    there each rank is a priority of its own.
    """
    entries, grades, others = records.entries, view.grades, view.others
    if len(entries) == 1:
        return (_told(entries[0], view.own),)
    drawn = [(grades.get(entry.cluster, others) - uniform(0.0, 1.0) ** entry.share, entry) for entry in entries]
    drawn.sort()
    if records.type == _SRV:
        return _prioritised((entry for _, entry in drawn), view)
    if not view.own:
        return [entry.tail for _, entry in drawn]
    # Several addresses of one cluster may lead to the same one inside of it.
    return list(dict.fromkeys(_told(entry, view.own) for _, entry in drawn))


def _told(entry: Entry, own: str) -> bytes:
    return entry.inside if own and entry.cluster == own and entry.inside else entry.tail


def _prioritised(entries: Iterable[Entry], view: View) -> list[bytes]:
    graded = [(view.grades.get(entry.cluster, view.others), entry.tail) for entry in entries]
    priorities = {grade: number for number, grade in enumerate(dict.fromkeys(grade for grade, _ in graded))}
    return [_with_priority(tail, priorities[grade]) for grade, tail in graded]


def _with_priority(tail: bytes, more: int) -> bytes:
    said = int.from_bytes(tail[_PRIORITY])
    return tail[: _PRIORITY.start] + min(said + more, 0xFFFF).to_bytes(2) + tail[_PRIORITY.stop :] if more else tail
