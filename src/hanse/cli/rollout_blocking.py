"""What blocks a rollout, for the commands: read from the federation, and said with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable

from hanse.api.shipper.kinds import GLOBAL_BLOCKS_NAMESPACE, ROLLOUT_BLOCKS
from hanse.cli.failures import Failure
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Key, Obj, dig, key_of, namespace_of
from hanse.rollouts.blocks.standing import concerns, overrides_of


async def read_blocks(host: Client, namespace: str = "") -> list[Obj]:
    """Return the blocks that hold for a namespace, or all there are; those that may not be read are left out."""
    try:
        if not namespace:
            return (await host.list(ROLLOUT_BLOCKS)).items
        return [obj for place in (namespace, GLOBAL_BLOCKS_NAMESPACE) for obj in await _in_namespace(host, place)]
    except NotFound:
        # A kind that is not served has no objects.
        return []


async def _in_namespace(host: Client, namespace: str) -> list[Obj]:
    try:
        return (await host.list(ROLLOUT_BLOCKS, namespace)).items
    except Forbidden:
        return []


async def require_unblocked(host: Client, obj: Obj, application: str) -> None:
    """Raise Failure where blocks that an object does not override stand in its way."""
    blocks = await read_blocks(host, namespace_of(obj))
    if told := in_the_way(obj, blocks, application):
        raise Failure(told)


def in_the_way(obj: Obj, blocks: Iterable[Obj], application: str) -> str:
    """Say what blocks an object and how to go on, "" where nothing does."""
    overridden = set(overrides_of(obj))
    left = {
        str(key_of(block)): str(dig(block, "spec", "message", default=""))
        for block in blocks
        if concerns(key_of(block), namespace_of(obj)) and str(key_of(block)) not in overridden
    }
    if not left:
        return ""
    names = ", ".join(f"{name} ({message})" if message else name for name, message in sorted(left.items()))
    advice = " ".join(sorted(left))
    return f"blocked by RolloutBlock {names}: delete it, or `hanse rollout blocks override {application} {advice}`"


def block_key(word: str, namespace: str) -> Key:
    """Read the name of a block: `NAMESPACE/NAME`, or a NAME of the namespace given."""
    place, slash, name = word.rpartition("/")
    return Key(place if slash else namespace, name)
