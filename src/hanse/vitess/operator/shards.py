"""A VitessShard: its tablets with their disks, those who keep them in order, and its first backup."""

from __future__ import annotations

from hanse.api.planetscale.values import UpdateType
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import DEPLOYMENTS
from hanse.vitess.operator.clusters import Gathered
from hanse.vitess.operator.initial_backups import add_initial_backup
from hanse.vitess.operator.orchestrators import orchestrator, orchestrator_cells
from hanse.vitess.operator.rolling import deployment_in_place
from hanse.vitess.operator.shaping import Settings
from hanse.vitess.operator.shard_scene import ShardScene, shard_scene
from hanse.vitess.operator.shard_status import shard_status
from hanse.vitess.operator.tablet_rolling import add_tablets
from hanse.vitess.operator.turning_down import add_orphans
from hanse.vitess.operator.verdicts import Observed, Verdict
from hanse.vitess.topology.picture import TopologyPicture

RESYNC_SECONDS = 30.0


def sync_shard(parent: Obj, observed: Observed, picture: TopologyPicture | None, settings: Settings) -> Verdict:
    """Return what a VitessShard consists of; `picture` is None where topology does not answer."""
    scene, gathered = shard_scene(parent, observed, picture, settings), Gathered()
    _orchestrators(scene, gathered)
    wait = add_tablets(scene, gathered)
    add_orphans(scene, gathered)
    add_initial_backup(scene, gathered)
    status = shard_status(scene, gathered.orphans)
    again = min(RESYNC_SECONDS, wait or RESYNC_SECONDS)
    return Verdict(tuple(gathered.children), status, tuple(gathered.events), tuple(gathered.marks), again)


def _orchestrators(scene: ShardScene, gathered: Gathered) -> None:
    at_once = scene.strategy.type is UpdateType.IMMEDIATE
    for cell in orchestrator_cells(scene.template.pools):
        wish = orchestrator(scene.around, scene.place, cell, scene.spec.get("vitessOrchestrator") or {})
        live = scene.observed.of(DEPLOYMENTS).get(name_of(wish))
        gathered.roll(DEPLOYMENTS, wish, live, at_once=at_once, in_place=deployment_in_place)
