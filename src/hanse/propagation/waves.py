"""How far a changed template may spread now: one group of clusters after the other, a few at a time, each seen well.

Pure. What a wave has to remember, since when its clusters are well, is a value that its caller keeps in an annotation
of the source; everything else is read from the copies, so a control plane that starts anew goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from hanse.placement.ask import Rollout
from hanse.propagation.wellness import Ailment

# A sentence names so many clusters; `hanse explain` names them all.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Standing:
    """How far one cluster is: whether its copy is of the present template, and what the copy lacks.

    `known` is False for a cluster that has not told what it has, `made` for one that only now gets its first copy, and
    that of the present template.
    """

    updated: bool
    ailment: Ailment | None = None
    known: bool = True
    made: bool = True


@dataclass(frozen=True, slots=True)
class Milestone:
    """So many clusters have had the template of this fingerprint, and were well, since then (seconds of the epoch)."""

    template: str
    clusters: int
    since: float


@dataclass(frozen=True, slots=True)
class Wave:
    """Where a change stands.

    `waiting` clusters keep what they have for now. `stopped` says that nothing goes on without somebody's help, and
    `asks_for` is the group that somebody has to approve. `milestone` is to be remembered. `until` is the moment at
    which time alone lets it go on. `template` is the fingerprint of what spreads.
    """

    waiting: tuple[str, ...] = ()
    sentence: str = ""
    stopped: bool = False
    asks_for: int | None = None
    milestone: Milestone | None = None
    until: float | None = None
    template: str = ""


def advance(
    rollout: Rollout,
    groups: Sequence[Sequence[str]],
    standings: Mapping[str, Standing],
    *,
    template: str,
    milestone: Milestone | None = None,
    approved: int = 0,
    now: float = 0.0,
) -> Wave:
    """Say which clusters have to wait.

    `groups` are the clusters in the order in which they change, `approved` the last group that somebody has approved.
    """
    pending = [name for name in chain.from_iterable(groups) if not standings[name].updated]
    if not pending:
        return Wave()
    reached = [name for name in chain.from_iterable(groups) if standings[name].updated]
    updated = [name for name in reached if standings[name].made]
    progress = f"{len(updated)} of {len(standings)} clusters have the new version"
    unknown = [name for name, standing in standings.items() if not standing.known]
    if unknown:
        return Wave(tuple(pending), f"{progress}; it goes on when {_some(unknown)} can be read")
    ailing = {name: ailment for name in reached if (ailment := standings[name].ailment) is not None}
    for name, ailment in ailing.items():
        if ailment.stuck:
            text = f"{progress}, and the others keep the old one: {name}: {ailment.why}; mend it or roll back"
            return Wave(tuple(pending), text, stopped=True)
    index = next(place for place, group in enumerate(groups) if any(name in pending for name in group))
    current = [name for name in groups[index] if name in pending]
    earlier = [name for name in chain.from_iterable(groups[:index]) if name in ailing]
    if earlier or (ailing and rollout.pause_seconds):
        return Wave(tuple(pending), f"{progress}; {_waits_for(ailing)}")
    begun = any(name in updated for name in groups[index])
    if rollout.manual and index > approved and not begun:
        text = f"{progress}; group {index + 1} ({_some(current)}) waits for `hanse approve`"
        return Wave(tuple(pending), text, asks_for=index)
    if updated and rollout.pause_seconds:
        kept = milestone
        if kept is None or (kept.template, kept.clusters) != (template, len(updated)):
            kept = Milestone(template, len(updated), now)
        until = kept.since + rollout.pause_seconds
        if now < until:
            text = f"{progress}; after a pause of {rollout.pause_seconds:g} s it reaches {_some(current)}"
            return Wave(tuple(pending), text, milestone=kept, until=until)
    disturbed = [name for name in pending if standings[name].ailment is not None]
    if rollout.alone and disturbed and not ailing:
        # Others wait for it, so that the new version, which may be what makes it well, has to reach it first.
        waiting = tuple(name for name in pending if name != disturbed[0])
        return Wave(waiting, f"{progress}; it reaches {disturbed[0]} now" if waiting else "")
    room = max(0, _at_a_time(rollout, len(standings), len(groups[index])) - len(ailing))
    waiting = tuple(name for name in pending if name not in current[:room])
    text = f"{progress}; it reaches {_some(current[:room])} now" if room else f"{progress}; {_waits_for(ailing)}"
    return Wave(waiting, text if waiting else "")


def _at_a_time(rollout: Rollout, everyone: int, group: int) -> int:
    limits = []
    if rollout.max_clusters is not None:
        limits.append(rollout.max_clusters)
    if rollout.max_percent is not None:
        limits.append(max(1, everyone * rollout.max_percent // 100))
    return min(limits) if limits else group if rollout.order else 1


def _waits_for(ailing: Mapping[str, Ailment]) -> str:
    name, ailment = next(iter(ailing.items()))
    more = f" (and {len(ailing) - 1} more)" if len(ailing) > 1 else ""
    return f"it waits for {name}{more}: {ailment.why}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
