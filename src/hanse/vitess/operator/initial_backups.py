"""The first backup of a shard, from which all its tablets start."""

from __future__ import annotations

from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS
from hanse.vitess.operator.backup_pods import INITIAL, backup_labels, backup_pod
from hanse.vitess.operator.claims import claim
from hanse.vitess.operator.clusters import Gathered
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.kinds import CLAIMS
from hanse.vitess.operator.shard_scene import ShardScene
from hanse.vitess.operator.tablet_pods import TabletWish
from hanse.vitess.operator.tablets import Tablet
from hanse.vitess.operator.verdicts import Tri


def backup_wish(scene: ShardScene) -> TabletWish | None:
    """Return what the first backup is shaped like, the first pool; None where nothing is ever backed up."""
    pool = scene.template.pools[0] if scene.template.pools else None
    if pool is None or pool.mysqld_resources is None or scene.location_of(pool) is None:
        return None
    return scene.wish(Tablet(scene.place, pool, 1))


def add_initial_backup(scene: ShardScene, gathered: Gathered) -> None:
    """Add the Pod that makes the first backup, for as long as there is none and no primary."""
    wish, name = backup_wish(scene), scene.backup_name
    pod, volume = scene.observed.of(PODS).get(name), scene.observed.of(CLAIMS).get(name)
    if wish is not None and _is_wanted(scene, wish):
        if wish.pool.volume_claim is not None:
            gathered.children.append(claim(name, backup_labels(wish, INITIAL), wish.pool.volume_claim, volume))
        gathered.children.append(backup_pod(name, wish, INITIAL) if pod is None else kept(pod))
    elif pod is not None and volume is not None:
        # The Pod goes first: its volume may be in use.
        gathered.children.append(kept(volume))


def _is_wanted(scene: ShardScene, wish: TabletWish) -> bool:
    if not scene.template.initialize_backup or scene.has_primary is Tri.TRUE:
        return False
    return not complete_backups(scene, wish)


def complete_backups(scene: ShardScene, wish: TabletWish) -> list[Obj]:
    """Return the backups that a tablet could start from."""
    location = wish.location.name if wish.location is not None else ""
    return [each for each in scene.backups(location) if dig(each, "status", "complete")]


def has_initial_backup(scene: ShardScene) -> Tri:
    """Tell whether tablets can start from a backup."""
    wish = backup_wish(scene)
    if scene.has_primary is Tri.TRUE or (wish is not None and complete_backups(scene, wish)):
        return Tri.TRUE
    pod = scene.observed.of(PODS).get(scene.backup_name)
    return {"Succeeded": Tri.TRUE, "Failed": Tri.FALSE}.get(str(dig(pod or {}, "status", "phase")), Tri.UNKNOWN)
