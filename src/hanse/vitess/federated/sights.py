"""What is known of a federated VitessCluster's members now, put into the terms of each decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hanse.api.clusters import Cluster
from hanse.api.names import REGION_LABEL, ZONE_LABEL
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.vitess.federated.evacuation import ShardSight
from hanse.vitess.federated.homes import Site
from hanse.vitess.federated.leaving import MemberNews
from hanse.vitess.federated.member_parts import MemberParts, tablet_pods
from hanse.vitess.federated.picture import Picture
from hanse.vitess.federated.plan import Plan
from hanse.vitess.federated.pruning import Evidence
from hanse.vitess.federated.reading import ShardId, pool_cells
from hanse.vitess.federated.refusing import division_refusals
from hanse.vitess.federated.reparenting import Replication
from hanse.vitess.federated.splitting import PART_ANNOTATION, split
from hanse.vitess.federated.staging import Standing
from hanse.vitess.federated.status import MemberView
from hanse.vitess.federated.tokens import TabletSight
from hanse.vitess.identity import parse_alias


@dataclass(frozen=True, slots=True)
class MemberSight:
    """One member: its VitessCluster and what is below it; without `reachable` either may be old.

    `parts` are None where they could not be listed. `trouble` is what keeps the member from what it shall have.
    """

    reachable: bool = False
    copy: Obj | None = None
    parts: MemberParts | None = None
    trouble: str = ""
    # Whether it is certain that there is no copy, and not only that none was seen.
    surely_absent: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """All members of a plan, and what each shall have by it."""

    plan: Plan
    members: Mapping[str, MemberSight] = field(default_factory=dict)
    wanted: Mapping[str, str] = field(default_factory=dict)

    def is_current(self, member: str) -> bool:
        """Tell whether a member has what it shall have by the stored plan, and its operator has seen it."""
        sight = self.members.get(member, MemberSight())
        if not sight.reachable or sight.copy is None:
            return False
        given = annotations_of(sight.copy).get(PART_ANNOTATION)
        seen = dig(sight.copy, "status", "observedGeneration", default=0)
        return given == self.wanted.get(member) and seen >= dig(sight.copy, "metadata", "generation", default=0)


def scene_of(source: Obj, plan: Plan, members: Mapping[str, MemberSight]) -> Scene:
    """Put members beside what they shall have; of a specification that divides nothing nobody shall have anything."""
    parts = {} if division_refusals(source.get("spec") or {}) else split(source, plan)
    return Scene(plan, members, {name: annotations_of(part)[PART_ANNOTATION] for name, part in parts.items()})


def sites_of(clusters: Sequence[Cluster]) -> list[Site]:
    """Return the registered clusters as cells are matched with them; labels count where nothing was seen of nodes."""
    return [
        Site(
            cluster.name,
            cluster.labels.get(REGION_LABEL) or cluster.region,
            tuple(dict.fromkeys(zone for zone in (cluster.labels.get(ZONE_LABEL, ""), *cluster.zones) if zone)),
            lost=cluster.offline,
        )
        for cluster in clusters
    ]


def member_news(scene: Scene, written_off: Collection[str] = ()) -> dict[str, MemberNews]:
    """Return what members say of what they have to let go; those that are `written_off` have nothing any more."""
    found = {name: MemberNews(absent=True) for name in written_off}
    for name, sight in scene.members.items():
        if name in found:
            continue
        known = sight.reachable and sight.parts is not None
        parts = sight.parts or MemberParts()
        empty = _emptied_keyspaces(sight.copy)
        found[name] = MemberNews(
            known=known,
            current=scene.is_current(name),
            absent=known and sight.surely_absent and not parts.keyspaces and not parts.cells,
            idle_cells=parts.idle_cells,
            # An operator may not have seen yet that a keyspace is empty; the copy has to say so as well.
            idle_keyspaces=parts.idle_keyspaces & empty,
        )
    return found


def _emptied_keyspaces(copy: Obj | None) -> frozenset[str]:
    keyspaces = dig(copy, "spec", "keyspaces", default=())
    return frozenset(str(each.get("name")) for each in keyspaces if not pool_cells(each))


def evidence(scene: Scene) -> dict[str, Evidence]:
    """Return what members prove of what is, or is not, in them."""
    found = {}
    for name, sight in scene.members.items():
        parts = sight.parts or MemberParts()
        cells = {*parts.cell_names, *dig(sight.copy, "status", "orphanedCells", default={})}
        keyspaces = {*parts.keyspace_names, *dig(sight.copy, "status", "orphanedKeyspaces", default={})}
        found[name] = Evidence(
            reachable=sight.reachable and sight.parts is not None,
            current=scene.is_current(name),
            cells=frozenset(cells | {each["name"] for each in dig(sight.copy, "spec", "cells", default=())}),
            keyspaces=frozenset(
                keyspaces | {each["name"] for each in dig(sight.copy, "spec", "keyspaces", default=())}
            ),
            shards=parts.shard_ids,
            tablets=frozenset(pod.alias for pod in tablet_pods(parts.tablets)),
        )
    return found


def _listed(copy: Obj | None, field_name: str) -> set[str]:
    return {str(each.get("name")) for each in dig(copy, "spec", field_name, default=())}


def member_views(scene: Scene, members: Collection[str]) -> dict[str, MemberView]:
    """Return members as the status shows them; of one that has just been planned nothing has been seen yet."""
    new = MemberSight(reachable=True)
    return {
        name: MemberView(sight.copy, sight.reachable, scene.is_current(name), sight.trouble)
        for name in members
        for sight in (scene.members.get(name, new),)
    }


def standings(scene: Scene, picture: Picture | None) -> dict[str, Standing]:
    """Return how far members are with an upgrade."""
    found = {}
    views = member_views(scene, scene.members)
    for name, sight in scene.members.items():
        etcd = dig(sight.copy, "status", "globalLockserver", "etcd", "available")
        found[name] = Standing(
            reachable=sight.reachable,
            settled=not views[name].lacks,
            primaries=primaries_in(scene.plan, name, picture),
            etcd={"True": True, "False": False}.get(str(etcd)) if sight.reachable else None,
        )
    return found


def primaries_in(plan: Plan, member: str, picture: Picture | None) -> int:
    """Count the shards whose primary is in a member."""
    leaders = [each.primary for each in picture.shards.values()] if picture is not None else []
    cells = [parsed[0] for alias in leaders if alias and (parsed := parse_alias(alias)) is not None]
    return sum(plan.homes.get(cell) == member for cell in cells)


def shard_sights(
    scene: Scene, picture: Picture, replication: Mapping[str, Replication], now: float
) -> dict[ShardId, ShardSight]:
    """Return every shard with its tablets in all members, as pods and records say together."""
    tablets: dict[ShardId, list[TabletSight]] = {}
    for name, sight in scene.members.items():
        for pod in tablet_pods(sight.parts.tablets if sight.parts is not None else ()):
            record, told = picture.tablets.get(pod.alias), replication.get(pod.alias, Replication())
            ready = sight.reachable and pod.ready_since is not None
            tablets.setdefault(pod.shard, []).append(
                TabletSight(
                    alias=pod.alias,
                    member=name,
                    cell=pod.cell,
                    type=record.type if record is not None else "UNKNOWN",
                    ready_for=now - pod.ready_since if ready and pod.ready_since is not None else 0.0,
                    drain=pod.started,
                    finished=pod.finished,
                    lag=told.lag,
                    position=told.position,
                )
            )
    return {shard: ShardSight(shard, picture.primary(shard), tuple(found)) for shard, found in sorted(tablets.items())}
