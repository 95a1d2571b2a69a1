"""Reading a tree: an object of the federation and what became of it, or one that only clusters have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hanse.api.placed_children import PLACED_CHILDREN, parse_placed_child
from hanse.cli.connection import read_clusters
from hanse.cli.doors import read_kinds
from hanse.cli.failures import Failure, Misuse
from hanse.cli.family import Branch, Relatives, children_at_home, read_relatives, tree_of
from hanse.cli.fleet import ask_members
from hanse.cli.health import Health, Mark
from hanse.cli.naming import find_source, kind_named, require_not_rolled_out
from hanse.cli.offspring import is_of_kubernetes
from hanse.cli.speaking import find_copied, target_of
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, key_of, name_of, namespace_of, uid_of
from hanse.kube.resources import Resource, gvk
from hanse.propagation.intent import Ref


async def read_tree(host: Client, word: str, key: Key) -> Branch:
    """Return what became of what somebody named; raises Failure and NotFound."""
    try:
        resource = await kind_named(host, word)
        require_not_rolled_out(resource, key.name)
        source, target = await find_copied(host, resource, key)
    except Misuse:
        raise
    except (Failure, NotFound):
        found = await _in_clusters(host, word, key)
        if found is None:
            raise
        return found
    (relatives,) = await _relatives(host, [target])
    root = tree_of(source, relatives)
    own = await _own_children(host, resource, source)
    return Branch(root.title, root.health, (*own, *root.children))


async def _relatives(host: Client, targets: Sequence[Ref]) -> list[dict[str, Relatives | str]]:
    """Ask every cluster once for all that it has of these objects; returns for each what the clusters said."""

    async def look(member: Member) -> list[Relatives]:
        return [
            await read_relatives(member.client, target.resource, target.key.name, target.key.namespace)
            for target in targets
        ]

    answers = await ask_members(host, await read_clusters(host), look)
    return [
        {name: answer if isinstance(answer, str) else answer[place] for name, answer in answers.items()}
        for place in range(len(targets))
    ]


async def _own_children(host: Client, resource: Resource, source: Obj) -> tuple[Branch, ...]:
    """Return what lambda controllers of the federation made of an object, each child with its copies."""
    if is_of_kubernetes(resource) or gvk(source) != (resource.group, resource.version, resource.kind):
        return ()
    own = await read_relatives(host, resource, name_of(source), namespace_of(source))
    if not own.descendants:
        return ()
    doors = await read_kinds(host)
    copied = {}
    for child in own.descendants:
        kind = await host.resource_of(child)
        if kind == PLACED_CHILDREN:
            placed = parse_placed_child(child)
            copied[uid_of(child)] = child, Ref(placed.resource, placed.key)
        elif kind in doors.resources:
            copied[uid_of(child)] = child, target_of(doors, Ref(kind, key_of(child)))
    answers = await _relatives(host, [target for _, target in copied.values()])
    trees = (tree_of(child, told) for (child, _), told in zip(copied.values(), answers, strict=True))
    return children_at_home(source, own, {uid: tree.children for uid, tree in zip(copied, trees, strict=True)})


async def _in_clusters(host: Client, word: str, key: Key) -> Branch | None:
    """Return an object that the federation does not have in every cluster that has it, None where none has."""

    async def look(member: Member) -> Relatives:
        try:
            kind = await member.client.discovery.named(word)
            found = await find_source(member.client, kind, key)
        except (NotFound, Failure):
            return Relatives(None)
        return await read_relatives(member.client, kind, name_of(found), namespace_of(found))

    answers = await ask_members(host, [each for each in await read_clusters(host) if not each.pull], look)
    copy = _first(answer.copy for answer in answers.values() if isinstance(answer, Relatives))
    if copy is None:
        return None
    # It has no state of its own: clusters have different ones of the same name.
    branches = tree_of(copy, answers).children
    return Branch(f"{copy['kind']}/{name_of(copy)}", Health(Mark.OK, why="the federation has none"), branches)


def _first(copies: Iterable[Obj | None]) -> Obj | None:
    return next((copy for copy in copies if copy is not None), None)
