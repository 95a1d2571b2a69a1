"""Printing what would change: one unified diff for all clusters with the same change. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
import yaml

from hanse.cli.outlook import Outlook
from hanse.kube.manifest import Obj
from hanse.propagation.foresight import ClusterChange, Effect

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def told(outlooks: Sequence[Outlook]) -> str:
    """Return the whole plan as text for people."""
    lines: list[str] = []
    for outlook in outlooks:
        lines += _object(outlook)
    lines.append(summary(outlooks))
    return "\n".join(lines) + "\n"


def summary(outlooks: Sequence[Outlook]) -> str:
    """Return what would happen in one sentence."""
    counts = Counter(change.effect for outlook in outlooks for change in outlook.changes)
    troubled = sum(bool(outlook.trouble) for outlook in outlooks)
    released = sum(outlook.new_release for outlook in outlooks)
    parts = [f"{counts[effect]} {effect}" for effect in Effect if counts[effect]]
    sentences = [f"{', '.join(parts)} over all clusters."] if parts else []
    if released:
        sentences.append(f"{released} new release{'s' if released > 1 else ''}.")
    return (" ".join(sentences) or "Nothing would change.") + (
        f" Of {troubled} objects not everything can be had." if troubled > 1 else ""
    )


def document(outlooks: Sequence[Outlook]) -> dict[str, Any]:
    """Return the plan for programs."""
    return {
        "objects": [
            {
                "object": outlook.title,
                "changes": [
                    {"cluster": change.cluster, "effect": str(change.effect), "why": change.why, "diff": diff(change)}
                    for change in outlook.changes
                ],
                "clusters": [
                    {"cluster": verdict.cluster, "replicas": verdict.replicas, "reasons": list(verdict.reasons)}
                    for verdict in (outlook.planned.decision.verdicts if outlook.planned else ())
                    if verdict.chosen
                ],
                "placedBy": list(outlook.sources),
                "trouble": outlook.trouble,
                "newRelease": outlook.new_release,
            }
            for outlook in outlooks
        ]
    }


def diff(change: ClusterChange) -> str:
    """Return what differs in one cluster as a unified diff, the values of Secrets hidden."""
    now = _lines(hidden(change.now, change.then, "before"))
    then = _lines(hidden(change.then, change.now, "after"))
    return "\n".join(difflib.unified_diff(now, then, "now", "then", n=3, lineterm=""))


def _object(outlook: Outlook) -> Iterator[str]:
    if outlook.trouble:
        yield f"{outlook.title}: {outlook.trouble}"
    if outlook.note:
        yield f"{outlook.title}: {outlook.note}"
    for effect, group in _grouped(outlook.changes):
        clusters = ", ".join(change.cluster for change in group)
        why = f" ({group[0].why})" if effect is Effect.REMOVED and group[0].why else ""
        yield f"{outlook.title} {effect} in {clusters}{why}"
        if effect is not Effect.REMOVED:
            yield from (_coloured(line) for line in diff(group[0]).splitlines()[2:])
        yield ""


def _grouped(changes: Iterable[ClusterChange]) -> list[tuple[Effect, list[ClusterChange]]]:
    groups: dict[tuple[Effect, str], list[ClusterChange]] = {}
    for change in changes:
        text = change.why if change.effect is Effect.REMOVED else diff(change)
        groups.setdefault((change.effect, text), []).append(change)
    return [(effect, group) for (effect, _), group in groups.items()]


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def _lines(obj: Obj | None) -> list[str]:
    return yaml.safe_dump(obj, sort_keys=True).splitlines() if obj is not None else []


def hidden(obj: Obj | None, other: Obj | None, when: str) -> Obj | None:
    """Return a Secret with its values hidden: one that changes still differs from what it was."""
    if obj is None or obj.get("kind") != "Secret":
        return obj
    result = dict(obj)
    for field in ("data", "stringData"):
        if field in obj:
            against = (other or {}).get(field) or {}
            result[field] = {
                name: "(hidden)" if against.get(name, value) == value else f"(hidden, {when})"
                for name, value in obj[field].items()
            }
    return result
