"""Which nodes can reach a pod's volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from hanse.kube.manifest import Key, Obj, dig, is_deleting, labels_of
from hanse.kube.quantities import parse_quantity
from hanse.simulator.scheduling.board import Board, NodeOffer
from hanse.simulator.scheduling.refusals import Filter, Hopeless, Refusal
from hanse.simulator.scheduling.terms import NodeTerm
from hanse.simulator.scheduling.wishes import Wish

NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_ONE_POD = "ReadWriteOncePod"

_NO_VOLUME = Refusal(("node(s) didn't find available persistent volumes to bind",))
_ELSEWHERE = Refusal(("node(s) didn't match PersistentVolume's node affinity",))
_OTHER_ZONE = Refusal(("node(s) had no available volume zone",))
_IN_USE = Refusal(
    (f"node(s) unavailable due to PersistentVolumeClaim with {_ONE_POD} access mode already in-use by another pod",),
    preemption_may_help=True,
)

Find = Callable[[Key], Obj | None]


def _nothing(_key: Key) -> Obj | None:
    return None


def _no_volumes() -> Iterator[Obj]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Storage:
    """How to find the claims, volumes and classes of a cluster."""

    claim: Find = _nothing
    volume: Find = _nothing
    storage_class: Find = _nothing
    volumes: Callable[[], Iterator[Obj]] = field(default=_no_volumes)


def volume_filters(wish: Wish, board: Board, storage: Storage) -> Iterator[Filter]:
    """Yield the filters for a pod's claims; raises Hopeless where one is missing, leaving or not bound in time."""
    claims = [_usable_claim(wish, name, storage) for name in wish.claims]
    if any(_ONE_POD in dig(claim, "spec", "accessModes", default=[]) for claim in claims):
        yield _only_pod(wish, board)
    for claim in claims:
        name = dig(claim, "spec", "volumeName", default="")
        if not name:
            yield _can_be_bound(claim, storage)
            continue
        volume = storage.volume(Key("", name))
        if volume is None:
            raise Hopeless(f'persistentvolume "{name}" not found')
        yield _reaches(volume)


def _usable_claim(wish: Wish, name: str, storage: Storage) -> Obj:
    claim = storage.claim(Key(wish.namespace, name))
    if claim is None:
        raise Hopeless(f'persistentvolumeclaim "{name}" not found')
    if is_deleting(claim):
        raise Hopeless(f'persistentvolumeclaim "{name}" is being deleted')
    if not dig(claim, "spec", "volumeName") and not waits_for_consumer(claim, storage):
        raise Hopeless("pod has unbound immediate PersistentVolumeClaims")
    return claim


def waits_for_consumer(claim: Obj, storage: Storage) -> bool:
    """Tell whether a claim is bound only when a pod that uses it has a node."""
    found = storage.storage_class(Key("", dig(claim, "spec", "storageClassName", default="")))
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


def _only_pod(wish: Wish, board: Board) -> Filter:
    wanted = frozenset(wish.claims)

    def look(node: NodeOffer) -> Refusal | None:
        used = any(pod.namespace == wish.namespace and pod.claims & wanted for pod in board.on(node.name))
        return _IN_USE if used else None

    return look


def _can_be_bound(claim: Obj, storage: Storage) -> Filter:
    """Accept a node on which a volume that is there fits the claim, or where one would be provisioned."""
    found = storage.storage_class(Key("", claim["spec"]["storageClassName"])) or {}
    if found.get("provisioner") != NO_PROVISIONER:
        return lambda _node: None
    fitting = [_reaches(volume) for volume in storage.volumes() if volume_fits(volume, claim)]
    return lambda node: None if any(reaches(node) is None for reaches in fitting) else _NO_VOLUME


def volume_fits(volume: Obj, claim: Obj) -> bool:
    """Tell whether a volume is free, or kept for the claim, and large and able enough for it."""
    spec, asked = volume["spec"], claim["spec"]
    kept_for: Mapping[str, str] = spec.get("claimRef") or {}
    metadata = claim["metadata"]
    ours = (kept_for.get("namespace"), kept_for.get("name")) == (metadata.get("namespace"), metadata["name"])
    if kept_for and not (ours and kept_for.get("uid", metadata.get("uid")) == metadata.get("uid")):
        return False
    if is_deleting(volume) or dig(volume, "status", "phase") in ("Released", "Failed"):
        return False
    modes = set(asked.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
    same_class = (spec.get("storageClassName") or "") == (asked.get("storageClassName") or "")
    same_mode = spec.get("volumeMode", "Filesystem") == asked.get("volumeMode", "Filesystem")
    return modes and same_class and same_mode and _size(volume) >= parse_quantity(_asked(claim))


def _size(volume: Obj) -> Decimal:
    return parse_quantity(dig(volume, "spec", "capacity", "storage", default="0"))


def _asked(claim: Obj) -> str:
    return str(dig(claim, "spec", "resources", "requests", "storage", default="0"))


def volume_reaches(volume: Obj, node: NodeOffer) -> bool:
    """Tell whether a node can use a volume."""
    return _reaches(volume)(node) is None


def _reaches(volume: Obj) -> Filter:
    terms = dig(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms", default=None)
    parsed = None if terms is None else [NodeTerm.of(term) for term in terms]
    zones = {key: value.split("__") for key, value in labels_of(volume).items() if key in _ZONES}

    def look(node: NodeOffer) -> Refusal | None:
        if parsed is not None and not any(term.matches(node.name, node.labels) for term in parsed):
            return _ELSEWHERE
        if any(key in node.labels for key in _ZONES):
            return _OTHER_ZONE if any(node.labels.get(key) not in values for key, values in zones.items()) else None
        return None

    return look
