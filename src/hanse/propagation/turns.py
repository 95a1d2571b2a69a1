"""Holding renderings back until their cluster's turn: what `waves` decides, applied to wishes and copies.

A copy that waits is left alone, so that its content needs to be kept nowhere else; only its replicas still move. A copy
carries a fingerprint of its template without the numbers that placement divides, and so scaling is never a change that
has to wait.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import orjson

from hanse.api.names import RENDERED_ANNOTATION, ROLLOUT_ANNOTATION, ROLLOUT_APPROVED_ANNOTATION, TEMPLATE_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.patches.differences import digest
from hanse.kube.runtime import timestamp
from hanse.placement.ask import Rollout
from hanse.placement.fleet import Fleet
from hanse.propagation.candidates import seconds_of
from hanse.propagation.comparison import Kept, Present, Wanted
from hanse.propagation.intent import Intent
from hanse.propagation.parts import BudgetParts
from hanse.propagation.rendering import rendered_digest
from hanse.propagation.scale import Path, with_field
from hanse.propagation.waves import Milestone, Standing, Wave, advance
from hanse.propagation.wellness import Ailment

# What placement divides among clusters; a change of these alone is no new template.
_DIVIDED: tuple[Path, ...] = (
    ("spec", "replicas"),
    ("spec", "parallelism"),
    ("spec", "completions"),
    ("spec", "minReplicas"),
    ("spec", "maxReplicas"),
    ("spec", "jobTemplate", "spec", "parallelism"),
    ("spec", "jobTemplate", "spec", "completions"),
)
_FIRST = Standing(updated=True, ailment=Ailment("it has no copy yet"), made=False)
_MARKS = frozenset({RENDERED_ANNOTATION, TEMPLATE_ANNOTATION})


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a source's annotations keep of its rollout: the last milestone, and the group of a template approved."""

    milestone: Milestone | None = None
    approved_template: str = ""
    approved_group: int = 0


def remembered(source: Obj) -> Remembered:
    """Read what was kept; what cannot be read was not kept."""
    annotations = annotations_of(source)
    template, _, group = annotations.get(ROLLOUT_APPROVED_ANNOTATION, "").partition("/")
    return Remembered(
        milestone=_milestone(annotations.get(ROLLOUT_ANNOTATION, "")),
        approved_template=template,
        approved_group=int(group) if group.isdecimal() else 0,
    )


def _milestone(text: str) -> Milestone | None:
    try:
        kept = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    since = seconds_of(str(dig(kept, "since", default="")))
    clusters = dig(kept, "clusters")
    if since is None or not isinstance(clusters, int):
        return None
    return Milestone(str(dig(kept, "template", default="")), clusters, since)


def noted(source: Obj, wave: Wave) -> Obj:
    """Return a source that keeps what its rollout has to remember, and nothing once it is over."""
    annotations = {name: value for name, value in annotations_of(source).items() if name != ROLLOUT_ANNOTATION}
    if wave.milestone is not None or wave.asks_for is not None:
        kept: Obj = {"template": wave.template}
        if wave.milestone is not None:
            kept |= {"clusters": wave.milestone.clusters, "since": timestamp(wave.milestone.since)}
        if wave.asks_for is not None:
            kept["asksFor"] = wave.asks_for
        annotations[ROLLOUT_ANNOTATION] = orjson.dumps(kept).decode()
    if annotations == annotations_of(source):
        return source
    metadata = {name: value for name, value in source["metadata"].items() if name != "annotations"}
    return {**source, "metadata": metadata | ({"annotations": annotations} if annotations else {})}


def in_turn(
    intent: Intent,
    fleet: Fleet,
    wanted: Mapping[str, Wanted],
    copies: Mapping[str, Obj],
    *,
    chosen: Collection[str],
    unseen: Collection[str],
    vacant: Collection[str],
    memory: Remembered,
    now: float,
) -> tuple[dict[str, Wanted], Wave]:
    """Replace the wishes of clusters whose turn has not come by wishes to keep what they have.

    Clusters without a copy get theirs at once: there is nothing in them that a new version could break. The others wait
    for those that are `vacant` as for any that has the new version and is not well: one from which somebody deleted the
    copy that ailed has not proven it. A cluster that is being left keeps the version that it has, and so does one of
    which nobody has seen yet which that is.
    """
    rollout = intent.placement.rollout or Rollout()
    wishes = {name: _marked(intent, wish) if isinstance(wish, Present) else wish for name, wish in wanted.items()}
    standings = {
        name: Standing(has_template(intent, copies[name], wish.manifest), intent.health(copies[name]))
        for name, wish in wishes.items()
        if isinstance(wish, Present) and name in copies and name in chosen
    }
    standings |= {name: _FIRST for name in vacant if isinstance(wishes.get(name), Present)}
    standings |= {name: Standing(updated=True, known=False) for name in unseen}
    overrides = [one.patch for one in intent.overrides]
    template = digest({"template": _undivided(intent, intent.template), "overrides": overrides})
    approved = memory.approved_group if memory.approved_template == template else 0
    wave = advance(
        rollout,
        _groups(rollout, fleet, standings),
        standings,
        template=template,
        milestone=memory.milestone,
        approved=approved,
        now=now,
    )
    leaving = [name for name, wish in wishes.items() if isinstance(wish, Present) and name not in chosen]
    for name in (*wave.waiting, *leaving, *unseen):
        wish = wishes.get(name)
        if isinstance(wish, Present):
            wishes[name] = Kept(intent.source_uid, _numbers(intent, wish), intent.inherits)
    return wishes, replace(wave, template=template)


def _groups(rollout: Rollout, fleet: Fleet, standings: Mapping[str, Standing]) -> list[list[str]]:
    """Return the clusters in the order in which they change; those that no group names come last."""
    rest = sorted(standings)
    groups = []
    for term in rollout.order:
        within = {fleet.names[slot] for slot in fleet.slots(fleet.within(term))}
        groups.append([name for name in rest if name in within])
        rest = [name for name in rest if name not in within]
    return [*groups, rest]


def _marked(intent: Intent, wish: Present) -> Present:
    mark = {TEMPLATE_ANNOTATION: template_digest(intent, wish.manifest)}
    return replace(wish, manifest=_annotated(wish.manifest, mark))


def template_digest(intent: Intent, manifest: Obj) -> str:
    """Return the fingerprint of what was rendered, whatever part of the whole the cluster has."""
    bare = {name: value for name, value in annotations_of(manifest).items() if name not in _MARKS}
    return digest(_undivided(intent, {**manifest, "metadata": {**manifest["metadata"], "annotations": bare}}))


def has_template(intent: Intent, copy: Obj, manifest: Obj) -> bool:
    """Tell whether a copy was rendered from the same template as a marked manifest.

    A copy from before there was a rollout carries no fingerprint: it is compared with what would have been rendered.
    """
    found = annotations_of(copy).get(TEMPLATE_ANNOTATION)
    if found is not None:
        return found == annotations_of(manifest)[TEMPLATE_ANNOTATION]
    plain = manifest
    for path in _divided(intent):
        number = dig(copy, *path)
        if number is not None and dig(manifest, *path) is not None:
            plain = with_field(plain, path, number)
    return rendered_digest(_annotated(plain, {})) == rendered_digest(copy)


def _divided(intent: Intent) -> tuple[Path, ...]:
    if isinstance(intent.parts, BudgetParts):
        return (*_DIVIDED, intent.parts.field)
    return (*_DIVIDED, intent.scale.replicas) if intent.replicas is not None else _DIVIDED


def _numbers(intent: Intent, wish: Present) -> tuple[tuple[Path, int], ...]:
    """Return the numbers that placement gave a cluster and that are not the cluster's own."""
    found = {path: dig(wish.manifest, *path) for path in _divided(intent) if path not in wish.retain}
    return tuple((path, number) for path, number in found.items() if isinstance(number, int))


def _undivided(intent: Intent, manifest: Obj) -> Obj:
    for path in _divided(intent):
        if dig(manifest, *path) is not None:
            manifest = with_field(manifest, path, None)
    return manifest


def _annotated(manifest: Obj, mark: Mapping[str, str]) -> Obj:
    """Return a manifest with this mark and no other, and a fingerprint that fits."""
    kept = {name: value for name, value in annotations_of(manifest).items() if name not in _MARKS}
    result = {**manifest, "metadata": {**manifest["metadata"], "annotations": {**kept, **mark}}}
    result["metadata"]["annotations"][RENDERED_ANNOTATION] = digest(result)
    return result
