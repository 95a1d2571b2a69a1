"""The pieces of releases into intents: each in the clusters of its release, the Deployment with as many replicas there
as the release's CapacityTarget says.

A Piece counts once the InstallationTarget of its release names it: before that the rendering is not complete, and what
there is of it goes nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hanse.api.clusters import words_of
from hanse.api.names import ADOPT_ANNOTATION, AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, FEDERATE_ANNOTATION
from hanse.api.pieces import PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION, Piece, parse_piece
from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    CAPACITY_TARGETS,
    CLUSTERS_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASE_LABEL,
    RELEASES,
)
from hanse.kube.cache import Change
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from hanse.kube.resources import DEPLOYMENTS, Resource
from hanse.placement.ask import ClusterTerm, Duplicated, Override, Placement
from hanse.placement.candidate import Toleration
from hanse.propagation.door import Affected, Door, Farewell, Inputs, Kin
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.stored_form import as_stored, given_by_cluster
from hanse.rollouts.shelf import generation_of

# Its clusters were chosen when the release was made; taints keep new releases away, and take nothing from this one.
_EVERY_TAINT = (Toleration(operator="Exists"),)
# What has yet to be committed speaks for nothing that another release has.
_UNCOMMITTED = -1


_OTHER_INPUTS = (INSTALLATION_TARGETS, CAPACITY_TARGETS, APPLICATIONS, RELEASES)


@dataclass(frozen=True, slots=True)
class _Known:
    pieces: Mapping[Key, Obj] = field(default_factory=dict)
    installations: Mapping[Key, Obj] = field(default_factory=dict)
    capacities: Mapping[Key, Obj] = field(default_factory=dict)
    applications: Mapping[Key, Obj] = field(default_factory=dict)
    releases: Mapping[Key, Obj] = field(default_factory=dict)
    # Whether there was any piece when it was looked: a federation without applications follows nothing else.
    awake: bool = False


class RolloutDoor(Door):
    """Carries what was rendered for releases into their clusters."""

    def __init__(self, known: _Known | None = None) -> None:
        self._known = known or _Known()

    @property
    def name(self) -> str:
        """What people call the door of applications."""
        return "rollouts"

    @property
    def resources(self) -> Sequence[Resource]:
        """Pieces alone."""
        return (PIECES,)

    @property
    def any_kind(self) -> bool:
        """Say that an application may be made of objects of any kind."""
        return True

    @property
    def inputs(self) -> Sequence[Resource]:
        """What says where a release is and how much of it; all whose authors have to be allowed that among them."""
        return (PIECES, *_OTHER_INPUTS) if self._known.awake else (PIECES,)

    def informed(self, inputs: Inputs) -> RolloutDoor:
        """Return the door that knows these inputs."""
        known = _Known(
            pieces=inputs[PIECES],
            installations=inputs.get(INSTALLATION_TARGETS, {}),
            capacities=inputs.get(CAPACITY_TARGETS, {}),
            applications=inputs.get(APPLICATIONS, {}),
            releases=inputs.get(RELEASES, {}),
            awake=bool(inputs[PIECES]),
        )
        return RolloutDoor(known)

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Return the pieces of a release whose clusters changed, or the one whose replicas did.

        Somebody else who says it may be allowed less, or more. With the first piece there is everything to learn.
        """
        if resource == PIECES:
            return Affected(everything=not self._known.awake and change.new_bytes is not None)
        if resource == CAPACITY_TARGETS:
            return Affected((Ref(PIECES, change.key),))
        if resource in (APPLICATIONS, RELEASES):
            return self._by_others(resource, change)
        if resource != INSTALLATION_TARGETS or _placing(change.old) == _placing(change.new):
            return Affected()
        return _affected(change.key.namespace, change.old, change.new)

    def target(self, source: Ref) -> Ref:
        """Return what members hold of a piece; of one that is not known, nothing."""
        piece = self._known.pieces.get(source.key)
        read = None if piece is None else _read(piece)
        return source if read is None else Ref(read.resource, read.key)

    def kin(self, source: Obj) -> Kin:
        """Say that of an application's releases the newest speaks for an object that several of them have."""
        family = f"{namespace_of(source)}/{labels_of(source).get(APP_LABEL, '')}"
        return Kin(family, (generation_of(source) or 0) if self.admits(source) else _UNCOMMITTED)

    def farewell(self, source: Obj) -> Farewell | Problem:
        """Say that what a release has goes with it."""
        return Farewell()

    def admits(self, source: Obj) -> bool:
        """Tell whether a piece is part of a complete rendering."""
        installation = self._known.installations.get(_release(source))
        return (
            installation is not None
            and _read(source) is not None
            and not self.lets_go(source)
            and _rendering(installation) == _rendering(source)
            and name_of(source) in _pieces(installation)
        )

    def lets_go(self, source: Obj) -> bool:
        """Tell whether somebody asked that the copies of a piece become the members' own."""
        return annotations_of(source).get(FEDERATE_ANNOTATION) == "false"

    def translate(self, source: Obj) -> Intent | Problem:
        """Put a piece into the clusters of its release."""
        release, piece = _release(source), parse_piece(source)
        installation = self._known.installations.get(release)
        if installation is None:
            return Problem("NotInstalled", f"InstallationTarget {release} says where it goes, and is not there yet")
        if self._known.releases.get(release) is None and _is_made_by_hanse(source):
            return Problem("NoRelease", f"Release {release} says whose it is, and is not there", expected=True)
        if _is_scaled(source, piece) and release not in self._known.capacities:
            # Whoever deleted it has not asked for no pods.
            told = f"CapacityTarget {release} says how many replicas it has, and is not there"
            return Problem("NotSized", told, expected=True)
        template = as_stored(piece.template)
        return Intent(
            resource=piece.resource,
            key=piece.key,
            source_uid=uid_of(source),
            template=template,
            placement=Placement(
                clusters=ClusterTerm(names=tuple(dig(installation, "spec", "clusters", default=()))),
                tolerations=_EVERY_TAINT,
                division=Duplicated(),
                forbidden=self._unheard(installation),
            ),
            overrides=self._replicas(source, piece),
            sources=(f"Release {release} is in the clusters that were chosen for it",),
            retain=given_by_cluster(piece.resource, template),
            adopt=annotations_of(source).get(ADOPT_ANNOTATION) == "true",
            voices=self._voices(source),
            created=dig(source, "metadata", "creationTimestamp", default=""),
        )

    def shared(self, intent: Intent, kin: Sequence[Obj]) -> Intent:
        """Keep what an older release has in the clusters in which the newer one is not."""
        names = list(intent.placement.clusters.names or ())
        overrides, voices, forbidden = list(intent.overrides), list(intent.voices), list(intent.placement.forbidden)
        for other in sorted(kin, key=lambda piece: self.kin(piece).rank, reverse=True):
            older = self.translate(other) if self.admits(other) and not is_deleting(other) else None
            if not isinstance(older, Intent):
                continue
            alone = tuple(name for name in older.placement.clusters.names or () if name not in names)
            if alone:
                whole = {"op": "replace", "path": "", "value": older.template}
                overrides.append(Override(ClusterTerm(names=alone), (whole,)))
                names += alone
                # They say what is there and where, which the author of the newer one may know nothing of.
                voices += [each for each in (other, *older.voices) if each not in voices]
                forbidden += [each for each in older.placement.forbidden if each[0] in alone]
        placement = replace(
            intent.placement, clusters=ClusterTerm(names=tuple(names)), forbidden=tuple(sorted(forbidden))
        )
        return replace(intent, placement=placement, overrides=tuple(overrides), voices=tuple(voices))

    def _voices(self, source: Obj) -> tuple[Obj, ...]:
        """Return what says beside a piece where it goes, and how much of it, as far as it exists."""
        release, application = _release(source), Key(namespace_of(source), labels_of(source).get(APP_LABEL, ""))
        found = (
            self._known.applications.get(application),
            self._known.releases.get(release),
            self._known.installations.get(release),
            self._known.capacities.get(release) if key_of(source) == release else None,
        )
        return tuple(each for each in found if each is not None)

    def _unheard(self, installation: Obj) -> tuple[tuple[str, str], ...]:
        """Return the clusters that a release does not name, or not yet as far as we have heard, with that sentence.

        Hanse writes the InstallationTarget, a person the release: nothing is opened before it is known by whom.
        """
        release = self._known.releases.get(key_of(installation))
        named = words_of(annotations_of(release).get(CLUSTERS_ANNOTATION, "")) if release is not None else ()
        if not named:
            return ()
        why = f"Release {key_of(installation)} does not name it in {CLUSTERS_ANNOTATION}"
        return tuple((name, why) for name in dig(installation, "spec", "clusters", default=()) if name not in named)

    def _by_others(self, resource: Resource, change: Change) -> Affected:
        """Return the pieces of an application or a release that somebody else has written, or with other clusters."""
        if _said(change.old) == _said(change.new):
            return Affected()
        if resource == APPLICATIONS:
            # One that comes or goes has no pieces yet, or takes them along; nobody else's are looked at for it.
            known_before = change.old_bytes is not None and change.new_bytes is not None
            return Affected(namespace=change.key.namespace) if known_before else Affected()
        return _affected(change.key.namespace, self._known.installations.get(change.key))

    def _replicas(self, source: Obj, piece: Piece) -> tuple[Override, ...]:
        """Give the Deployment of a release the replicas that its CapacityTarget says, cluster by cluster."""
        if not _is_scaled(source, piece):
            return ()
        capacity = self._known.capacities.get(_release(source))
        by_count: dict[int, list[str]] = {}
        for entry in dig(capacity, "spec", "clusters", default=()):
            count = share_of(entry.get("totalReplicaCount") or 0, entry.get("percent") or 0)
            by_count.setdefault(count, []).append(entry["name"])
        return tuple(
            Override(
                ClusterTerm(names=tuple(names)),
                ({"op": "add", "path": "/spec/replicas", "value": count},),
            )
            for count, names in sorted(by_count.items())
        )


def share_of(total: int, percent: int) -> int:
    """Return how many of so many replicas a percentage is, rounded up."""
    return -(-total * percent // 100)


def _read(piece: Obj) -> Piece | None:
    """Read a piece; one that was stored by a server that checked nothing may mean nothing."""
    try:
        return parse_piece(piece)
    except (KeyError, TypeError, AttributeError):
        return None


def _is_scaled(source: Obj, piece: Piece) -> bool:
    """Tell whether a piece is the Deployment that a release's CapacityTarget is about."""
    return piece.resource == DEPLOYMENTS and key_of(source) == _release(source)


def _release(piece: Obj) -> Key:
    return Key(namespace_of(piece), labels_of(piece).get(RELEASE_LABEL, ""))


def _rendering(obj: Obj) -> str:
    return annotations_of(obj).get(RENDERING_ANNOTATION, "")


def _pieces(installation: Obj) -> list[str]:
    return annotations_of(installation).get(PIECES_ANNOTATION, "").split(",")


def _placing(installation: Obj | None) -> object:
    """Return what of an InstallationTarget says where pieces go, and who says it."""
    if installation is None:
        return None
    clusters = dig(installation, "spec", "clusters")
    return clusters, _rendering(installation), _pieces(installation), _said(installation)


def _said(obj: Obj | None) -> object:
    """Return who wrote an object, and the clusters that it names where it is a release."""
    if obj is None:
        return None
    annotations = annotations_of(obj)
    return [annotations.get(name) for name in (AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, CLUSTERS_ANNOTATION)]


def _is_made_by_hanse(piece: Obj) -> bool:
    """Tell whether a piece was rendered for a release; then it is that one's author who has to be asked about."""
    return any(owner["kind"] == RELEASES.kind for owner in piece["metadata"].get("ownerReferences") or ())


def _affected(namespace: str, *installations: Obj | None) -> Affected:
    """Return the pieces that InstallationTargets name."""
    named = dict.fromkeys(name for each in installations if each is not None for name in _pieces(each))
    return Affected(tuple(Ref(PIECES, Key(namespace, name)) for name in named))
