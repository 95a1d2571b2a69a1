"""What a front door makes of a user's object: the one form that the engine understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import Resource
from hanse.placement.ask import Override, Placement
from hanse.propagation.one_address import OneAddress
from hanse.propagation.parts import JOB_SCALE, JobParts, Parts
from hanse.propagation.removal import DELETED, Removal
from hanse.propagation.scale import WORKLOAD, Path, Scale
from hanse.propagation.wellness import Health, ailment_of


class Ref(NamedTuple):
    """One source object: its kind and its key."""

    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.plural}/{self.key}"


class Follows(Enum):
    """Whether an object goes where the workloads are that name it: never, when one of them asks for it, or always.

    What is only there because it is `NAMED` is no concern of the engine's before that, nor after.
    """

    NEVER = "never"
    ASKED = "asked"
    ALWAYS = "always"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class Intent:
    """What shall be where.

    `template` is what every chosen cluster gets, `replicas` (None for kinds without) is divided among them. `overrides`
    change the template for some clusters. `sources` say who asked for the placement, the one that counts most first.
    `scale` says where the replicas are; `parts` divide what is more than replicas. Clusters keep what they have in the
    fields to `retain`. `adopt` takes over objects of that name that are not Hanse's.
    `orphan` leaves the copies behind when the source is deleted. Where `mend` is False, what somebody changes in a
    member is told and not put back. `inherits` are the uids of sources whose copies become this one's. `follows` says
    whether it goes where those are that name it, `health` what a copy lacks. `nowhere` says that somebody asked for
    it to be in no cluster, so that even the last copy goes. `warnings` are told although everything can be done.
    `voices` are the objects beside the source that say where it goes: their authors have to be allowed that, too.
    `one_address` is there where clusters that share an address get their copies one after the other. A cluster that was
    lost before it was `created` has no copy of it; "" says that this is not known. What is `settled` stays as it is in
    the clusters that it is for: nothing in it is mended there, and what is gone is not made again. The clusters
    `at_home` have the source itself, so that nothing follows anybody there. `unneeded` says why it is to be nowhere for
    now: its copies are removed, and it is not held any longer. What leaves a cluster is removed by `removal`. Copies
    that are `apart` are there each for itself: one that shall go does so by somebody's word, and waits for no other.
    """

    resource: Resource
    key: Key
    source_uid: str
    template: Obj
    placement: Placement = field(default_factory=Placement)
    replicas: int | None = None
    overrides: tuple[Override, ...] = ()
    sources: tuple[str, ...] = ()
    orphan: bool = False
    scale: Scale = WORKLOAD
    parts: Parts | None = None
    retain: tuple[Path, ...] = ()
    adopt: bool = False
    mend: bool = True
    inherits: tuple[str, ...] = ()
    health: Health = ailment_of
    follows: Follows = Follows.NEVER
    nowhere: bool = False
    warnings: tuple[Problem, ...] = ()
    voices: tuple[Obj, ...] = ()
    one_address: OneAddress | None = None
    created: str = ""
    settled: bool = False
    at_home: frozenset[str] = frozenset()
    unneeded: str = ""
    removal: Removal = DELETED
    apart: bool = False

    @property
    def runs_once(self) -> bool:
        """Whether nothing of it must run twice: a Job may run in many clusters, each of its completions in one."""
        is_job = isinstance(self.parts, JobParts) and self.parts.scale == JOB_SCALE
        return is_job or self.placement.at_most_once

    def without(self, refusals: Mapping[str, str]) -> Intent:
        """Return the intent of somebody who may not use these clusters; each has the sentence that says so."""
        if not refusals:
            return self
        forbidden = {**dict(self.placement.forbidden), **refusals}
        return replace(self, placement=replace(self.placement, forbidden=tuple(sorted(forbidden.items()))))

    def forbids(self, cluster: str) -> bool:
        """Tell whether whoever asks may not use a cluster."""
        return any(name == cluster for name, _ in self.placement.forbidden)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an object cannot be translated; what it has in the members stays as it is.

    One that is `expected` is told, and nobody has to do anything about it.
    """

    reason: str
    message: str
    expected: bool = False
