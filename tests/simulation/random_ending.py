"""How a random world must be once nobody disturbs it any more: everything where it belongs, nothing left over."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.names import DRIFT_ANNOTATION, STATUS_ANNOTATION
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Obj, annotations_of, dig, key_of, name_of, uid_of
from hanse.native.kinds import is_federated
from tests.simulation.random_objects import Kind, essence
from tests.simulation.random_truth import DIVIDED, HOST, JOBS, KIND_OF, SOURCES, Truth, owner_of

# Where nothing of it is to be done, such an object need not be.
_SOMEWHERE = {*DIVIDED, JOBS}


def problems(truth: Truth) -> list[str]:
    """Return what is not as it should be, one sentence each."""
    found = [f"cluster {name} is not Ready" for name, one in truth.clusters.items() if not _ready(one)]
    for (bucket, path), source in truth.objects[HOST].items():
        if bucket not in SOURCES or not is_federated(source):
            continue
        if "deletionTimestamp" in source["metadata"]:
            found.append(f"{source['kind']} {key_of(source)} is still being deleted")
        elif bucket in KIND_OF:
            found += _source_problems(truth, KIND_OF[bucket], (bucket, path), source)
    return [*found, *_left_over(truth)]


def _source_problems(truth: Truth, kind: Kind, where: tuple[str, str], source: Obj) -> Iterator[str]:
    named = f"{source['kind']} {key_of(source)}"
    chosen = {name: truth.chosen(source, cluster) for name, cluster in truth.clusters.items()}
    if None in chosen.values():
        if "selector" not in _told(source):
            yield f"{named} does not tell that its selector cannot be read"
        return
    taken = []
    for name, belongs in chosen.items():
        copy = truth.objects[name].get(where)
        own = copy is not None and owner_of(copy) == uid_of(source)
        if belongs and copy is not None and not own:
            taken.append(name)
        elif belongs and copy is None and where[0] not in _SOMEWHERE:
            yield f"{name}: {named} is missing"
        elif own and copy is not None and not belongs and any(chosen.values()):
            yield f"{name}: {named} is left over"
        elif belongs and copy is not None and essence(kind, copy) != essence(kind, source):
            if annotations_of(source).get(DRIFT_ANNOTATION) == "report" and "somebody changed" in _told(source):
                continue
            yield f"{name}: {named} is {essence(kind, copy)} and should be {essence(kind, source)}"
    # One sentence is told, so the first of several that have something in the way.
    if taken and not any(f"{name}: " in _told(source) for name in taken):
        yield f"{named} does not tell that {taken[0]} has another object of its name: {_told(source)!r}"
    if where[0] in DIVIDED and any(chosen.values()) and not taken:
        yield from _replica_problems(truth, where, source)


def _replica_problems(truth: Truth, where: tuple[str, str], source: Obj) -> Iterator[str]:
    copies = {name: truth.objects[name].get(where) for name in truth.clusters}
    own = {name: copy for name, copy in copies.items() if copy is not None and owner_of(copy) == uid_of(source)}
    asked = sum(int(dig(copy, "spec", "replicas", default=1)) for copy in own.values())
    serving = DIVIDED[where[0]]
    ready = sum(int(dig(copy, "status", serving, default=0)) for copy in own.values())
    told = int(dig(source, "status", serving, default=0))
    wanted = int(dig(source, "spec", "replicas", default=1))
    if not asked == ready == told == wanted:
        yield (
            f"{source['kind']} {key_of(source)} should have {wanted} replicas; its clusters are asked for {asked}, "
            f"have {ready} available and the federation tells of {told}"
        )


def _left_over(truth: Truth) -> Iterator[str]:
    """Yield copies without a source; a cluster that left may have kept some that nobody is responsible for."""
    present = truth.present()
    for place in truth.clusters:
        if place in truth.left_at:
            continue
        for (bucket, _path), obj in truth.objects[place].items():
            if bucket in SOURCES and owner_of(obj) and owner_of(obj) not in present:
                yield f"{place}: {obj['kind']} {key_of(obj)} is left over: its source is gone"


def _told(source: Obj) -> str:
    condition = find_condition(dig(source, "status", "conditions", default=[]), "Propagated") or {}
    return f"{annotations_of(source).get(STATUS_ANNOTATION, '')} {condition.get('message', '')}"


def _ready(cluster: Obj) -> bool:
    return bool(name_of(cluster)) and is_true(dig(cluster, "status", "conditions"), "Ready")
