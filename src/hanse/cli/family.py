"""What became of an object: its copies, and what the controllers of each cluster made of them. Pure but for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hanse.cli.health import Health, Mark, health_of
from hanse.cli.offspring import offspring_of
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Obj, controller_of, dig, name_of, uid_of
from hanse.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Relatives:
    """What one cluster has of an object: the copy, None where there is none, and all that descends from it."""

    copy: Obj | None
    descendants: tuple[Obj, ...] = ()

    def all(self) -> Iterator[Obj]:
        """Yield the copy and its descendants."""
        if self.copy is not None:
            yield self.copy
            yield from self.descendants


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of the tree and what hangs below it."""

    title: str
    health: Health
    children: tuple[Branch, ...] = field(default=())

    @property
    def worst(self) -> Mark:
        """The worst mark at or below this line."""
        order = list(Mark)
        return max((self.health.mark, *(child.worst for child in self.children)), key=order.index)


async def read_relatives(client: Client, resource: Resource, name: str, namespace: str) -> Relatives:
    """Read from one cluster a copy and what its controllers made of it."""
    copy = await client.find(resource, name, namespace)
    if copy is None:
        return Relatives(None)
    copy = resource.name_kind(copy)
    candidates: list[Obj] = []
    for kind in await offspring_of(client, resource):
        try:
            listed = await client.list(kind, namespace if kind.namespaced else "")
        except (NotFound, Forbidden):
            # A cluster need not serve every kind, nor let everybody see it.
            continue
        candidates += [kind.name_kind(obj) for obj in listed.items]
    return Relatives(copy, tuple(descendants(copy, candidates)))


def descendants(root: Obj, candidates: Sequence[Obj]) -> Iterator[Obj]:
    """Yield what the root controls, directly or through others, parents before children."""
    by_owner = _by_owner(candidates)
    waiting = [uid_of(root)]
    while waiting:
        for child in by_owner.get(waiting.pop(0), ()):
            yield child
            waiting.append(uid_of(child))


def tree_of(source: Obj, relatives: Mapping[str, Relatives | str]) -> Branch:
    """Put the tree together; a cluster that did not answer has the sentence that says why."""
    children = (_cluster(cluster, found) for cluster, found in sorted(relatives.items()))
    return Branch(_title(source), health_of(source), tuple(child for child in children if child is not None))


def children_at_home(source: Obj, own: Relatives, copies: Mapping[str, tuple[Branch, ...]]) -> tuple[Branch, ...]:
    """Return what descends from an object where it is itself, and below each what became of that in the clusters.

    `copies` has these branches by the uid of the descendant.
    """
    by_owner = _by_owner(own.descendants)

    def branch(obj: Obj) -> Branch:
        below = (branch(child) for child in by_owner.get(uid_of(obj), ()) if not _is_history(child))
        return Branch(_title(obj), health_of(obj), (*below, *copies.get(uid_of(obj), ())))

    return tuple(branch(child) for child in by_owner.get(uid_of(source), ()))


def _cluster(cluster: str, found: Relatives | str) -> Branch | None:
    if isinstance(found, str):
        return Branch(f"cluster {cluster}", Health(Mark.FAILED, why=found))
    if found.copy is None:
        return None
    copy = _branch(found.copy, _by_owner(found.descendants))
    return Branch(f"cluster {cluster}", copy.health, copy.children)


def _branch(obj: Obj, by_owner: Mapping[str, list[Obj]]) -> Branch:
    children = (child for child in by_owner.get(uid_of(obj), ()) if not _is_history(child))
    return Branch(_title(obj), health_of(obj), tuple(_branch(child, by_owner) for child in children))


def _is_history(obj: Obj) -> bool:
    """Tell whether it is the ReplicaSet of an earlier revision, kept only so that one can go back to it."""
    if obj.get("kind") != "ReplicaSet":
        return False
    return not dig(obj, "spec", "replicas", default=0) and not dig(obj, "status", "replicas", default=0)


def _by_owner(objects: Sequence[Obj]) -> dict[str, list[Obj]]:
    found: dict[str, list[Obj]] = {}
    for obj in sorted(objects, key=lambda obj: (obj.get("kind", ""), name_of(obj))):
        owner = controller_of(obj)
        if owner is not None:
            found.setdefault(owner.get("uid", ""), []).append(obj)
    return found


def _title(obj: Obj) -> str:
    return f"{obj['kind']}/{name_of(obj)}"
