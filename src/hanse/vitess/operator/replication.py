"""A shard and its Pods as those see them who choose its first primary and drain its tablets. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.planetscale.kinds import (
    DRAIN_ACKNOWLEDGED_ANNOTATION,
    DRAIN_FINISHED_ANNOTATION,
    DRAIN_STARTED_ANNOTATION,
    TABLET_TYPE_LABEL,
)
from hanse.api.planetscale.values import PoolType
from hanse.api.vitess_records.topology import Tablet as TabletRecord
from hanse.api.vitess_records.topology import TabletAlias
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of
from hanse.kube.resources import PODS
from hanse.vitess.identity import parse_alias
from hanse.vitess.operator.initial_backups import backup_wish, has_initial_backup
from hanse.vitess.operator.mysql_versions import VersionStep
from hanse.vitess.operator.pods import is_available, is_ready, is_running
from hanse.vitess.operator.shard_scene import ShardScene
from hanse.vitess.operator.tablet_rolling import tablet_states
from hanse.vitess.operator.tablets import alias_of
from hanse.vitess.operator.verdicts import Mark, Tri
from hanse.vitess.tablets.beginning import Beginner, BeginningScene
from hanse.vitess.tablets.candidates import TabletPod
from hanse.vitess.tablets.drain_pass import ShardRef
from hanse.vitess.tablets.draining import DrainState, DrainTablet
from hanse.vitess.topology.picture import TopologyPicture

_DRAINS = (DRAIN_STARTED_ANNOTATION, DRAIN_ACKNOWLEDGED_ANNOTATION, DRAIN_FINISHED_ANNOTATION)


def shard_ref(scene: ShardScene) -> ShardRef:
    """Return a shard as those who look after its replication name it."""
    return ShardRef(
        scene.place.keyspace,
        str(scene.place.key_range),
        frozenset(scene.spec.get("allCells") or ()),
        external=any(pool.external is not None for pool in scene.template.pools),
    )


def _alias(text: str) -> TabletAlias:
    cell, uid = parse_alias(text) or ("", 0)
    return TabletAlias(cell, uid)


def tablet_pods(scene: ShardScene) -> dict[TabletAlias, Obj]:
    """Return the Pods of all tablets of a shard that are here, wanted or not."""
    return {_alias(alias): pod for pod in scene.observed.of(PODS).values() if (alias := alias_of(pod))}


def drain_tablets(scene: ShardScene) -> list[DrainTablet]:
    """Return the tablets of a shard as its drains see them; one that is missing is not available."""
    pods, now = tablet_pods(scene), scene.observed.now
    wanted = {_alias(tablet.alias) for tablet in scene.tablets}
    slowly = {_alias(state.tablet.alias) for state in tablet_states(scene) if state.mysql_step is VersionStep.UPGRADE}
    found = []
    for alias in sorted(wanted | set(pods)):
        said = annotations_of(pods[alias]) if alias in pods else {}
        found.append(
            DrainTablet(
                alias=alias,
                available=alias in pods and is_available(pods[alias], now),
                desired=alias in wanted,
                started=DRAIN_STARTED_ANNOTATION in said,
                acknowledged=DRAIN_ACKNOWLEDGED_ANNOTATION in said,
                finished=DRAIN_FINISHED_ANNOTATION in said,
                slow_shutdown=alias in slowly,
            )
        )
    return found


def candidate_pods(scene: ShardScene) -> dict[TabletAlias, TabletPod]:
    """Return what the Pods of tablets say to whoever looks for a new primary."""
    return {
        alias: TabletPod(
            PoolType(labels_of(pod)[TABLET_TYPE_LABEL]),
            ready=is_ready(pod),
            drains=any(name in annotations_of(pod) for name in _DRAINS),
        )
        for alias, pod in tablet_pods(scene).items()
    }


def beginning_scene(scene: ShardScene, picture: TopologyPicture) -> BeginningScene:
    """Return all that the choice of a first primary depends on."""
    there = picture.tablets_of(scene.place.keyspace, str(scene.place.key_range))
    records = {alias: found.value for alias, found in there.items()}
    return BeginningScene(
        initialize=scene.template.initialize_primary,
        has_primary=_known(scene.has_primary),
        uses_backups=backup_wish(scene) is not None,
        has_initial_backup=_known(has_initial_backup(scene)),
        beginners=tuple(_beginners(scene, records)),
        records=tuple(records[alias] for alias in sorted(records)),
    )


def _known(value: Tri) -> bool | None:
    return None if value is Tri.UNKNOWN else value is Tri.TRUE


def _beginners(scene: ShardScene, records: Mapping[TabletAlias, TabletRecord]) -> list[Beginner]:
    found = []
    for tablet in scene.tablets:
        pod, alias = scene.pod(tablet), _alias(tablet.alias)
        running = pod is not None and is_running(pod)
        found.append(Beginner(alias, tablet.pool.type, running=running, record=records.get(alias)))
    return found


def drain_marks(scene: ShardScene, states: Mapping[TabletAlias, DrainState], now: str) -> list[Mark]:
    """Return the annotations that say how far drains are."""
    pods = tablet_pods(scene)
    said: dict[DrainState, dict[str, str | None]] = {
        DrainState.ACKNOWLEDGED: {DRAIN_ACKNOWLEDGED_ANNOTATION: now},
        DrainState.FINISHED: {DRAIN_FINISHED_ANNOTATION: now},
        DrainState.NOT_DRAINING: {DRAIN_ACKNOWLEDGED_ANNOTATION: None, DRAIN_FINISHED_ANNOTATION: None},
    }
    return [Mark(PODS, name_of(pods[alias]), said[state]) for alias, state in states.items() if alias in pods]
