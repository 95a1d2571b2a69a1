"""Random worlds of users who may use some clusters only, while rights come and go and the control plane dies.

No copy of what somebody wrote is ever in a cluster that they were never allowed to use, and at every rest it is in all
that they may use then, as they wrote it. A right that is taken away deletes nothing.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hanse.apiserver import Identity
from hanse.cli.authorship import stamp_authors
from hanse.clusters.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.playing import quietly
from tests.simulation.tally import note_fault
from tests.simulation.world import World, config, federation

STEPS = 30
_MEMBERS = ("a", "b", "c")
_USERS = ("anna", "dora")
_NUMBERS = (1, 2)
_REST_SECONDS = 90.0
_WRITING = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}


@dataclass(slots=True)
class _History:
    """What happened, who may use what now, and who ever might."""

    world: World
    chance: random.Random
    story: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    rights: dict[str, set[str]] = field(default_factory=dict)
    ever: dict[str, set[str]] = field(default_factory=dict)
    broken: str = ""

    def client(self, user: str) -> Client:
        """A user's way to the federation."""
        return Client(self.world.servers["host"].connect(Identity(user)), self.world.runtime, manager="kubectl")

    async def let(self, user: str, clusters: set[str]) -> None:
        """Let a user use these clusters and no others; what may be in force before it is told counts as well."""
        self.rights[user] = clusters
        self.ever.setdefault(user, set()).update(clusters)
        using = {"apiGroups": ["clusterregistry.k8s.io"], "resources": ["clusters"], "verbs": ["use"]}
        await _give(self.world.host, user, [_WRITING, {**using, "resourceNames": sorted(clusters)}])


async def _give(host: Client, user: str, rules: list[Obj]) -> None:
    about = {"apiGroup": "rbac.authorization.k8s.io"}
    role = {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": user}, "rules": rules}
    binding = {
        "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {**about, "kind": "ClusterRole", "name": user},
        "subjects": [{**about, "kind": "User", "name": user}],
    }
    await host.apply(CLUSTER_ROLES, role)
    await host.apply(CLUSTER_ROLE_BINDINGS, binding)


_Act = Callable[[_History, str], Awaitable[str]]


def _name(history: _History, user: str) -> str:
    return f"{user}-{history.chance.choice(_NUMBERS)}"


async def _write(history: _History, user: str) -> str:
    name = _name(history, user)
    await history.client(user).create(CONFIGMAPS, config(name))
    return f"{user} wrote {name}"


async def _pretend(history: _History, user: str) -> str:
    """Write an object and say that somebody else did."""
    made, other = config(_name(history, user)), next(each for each in _USERS if each != user)
    made["metadata"]["annotations"] = {"hanse.dev/author": other}
    await history.client(user).create(CONFIGMAPS, made)
    return f"{user} wrote {made['metadata']['name']} as if {other} had"


async def _edit(history: _History, user: str) -> str:
    name, color = _name(history, user), str(history.chance.random())
    await history.client(user).patch(CONFIGMAPS, name, {"data": {"color": color}}, "default")
    return f"{user} changed {name}"


async def _delete(history: _History, user: str) -> str:
    name = _name(history, user)
    await history.client(user).delete(CONFIGMAPS, name, "default")
    return f"{user} deleted {name}"


async def _change_rights(history: _History, user: str) -> str:
    clusters = set(history.chance.sample(_MEMBERS, history.chance.choice((1, 1, 2))))
    await history.let(user, clusters)
    return f"{user} may use {', '.join(sorted(clusters))}"


async def _restart(history: _History, _user: str) -> str:
    note_fault("death")
    await history.world.kill_control_plane()
    history.world.start_control_plane()
    return "the control plane was killed and started"


async def _break(history: _History, _user: str) -> str:
    if history.broken:
        history.world.heal(history.broken)
        healed, history.broken = history.broken, ""
        return f"{healed} is well again"
    history.broken = history.chance.choice(_MEMBERS)
    await history.world.fail(history.broken)
    return f"{history.broken} is gone"


_ACTS: tuple[_Act, ...] = (_write, _write, _pretend, _edit, _delete, _change_rights, _restart, _break)


def play(seed: int, steps: int = STEPS) -> tuple[list[str], list[str]]:
    """Play a world; returns what went wrong in it, and what had happened."""
    with quietly():
        return run_virtually(lambda: _play(seed, steps))


async def _play(seed: int, steps: int) -> tuple[list[str], list[str]]:
    async with federation(*_MEMBERS, seed=seed) as world:
        history = _History(world, random.Random(seed))
        await stamp_authors(world.host)
        for user in _USERS:
            await history.let(user, {history.chance.choice(_MEMBERS)})
        await world.kill_control_plane()
        world.start_control_plane()
        for step in range(1, steps + 1):
            await _act(history)
            if step % 10 == 0 and not history.found:
                await _rest(history)
            if history.found:
                break
        return history.found, history.story


async def _act(history: _History) -> None:
    act, user = history.chance.choice(_ACTS), history.chance.choice(_USERS)
    try:
        told = await act(history, user)
    except (NotFound, AlreadyExists) as error:
        told = f"came too late: {error}"
    history.story.append(f"{history.world.runtime.monotonic():8.2f} {told}")
    await history.world.runtime.sleep(history.chance.choice((0.0, 0.05, 0.4, 1.2, 4.0)))
    for user in _USERS:
        for name, places in (await _places(history, user)).items():
            for place in places - history.ever[user]:
                history.found.append(f"least power: {place} has {name}, and {user} may never use it")


async def _rest(history: _History) -> None:
    if history.broken:
        await _break(history, "")
    history.story.append(f"{history.world.runtime.monotonic():8.2f} a rest")
    try:
        await history.world.until(lambda: _is_right(history), _REST_SECONDS)
    except AssertionError:
        history.found += await _wrongs(history)


async def _is_right(history: _History) -> bool:
    return not await _wrongs(history)


async def _wrongs(history: _History) -> list[str]:
    found = []
    for user in _USERS:
        for name, places in (await _places(history, user)).items():
            source = await history.world.host.find(CONFIGMAPS, name, "default")
            wanted = history.rights[user] if source is not None else set()
            if not wanted <= places or (source is None and places):
                found.append(f"least power: {name} is in {sorted(places)} and should be in {sorted(wanted)}")
                continue
            copies = [await history.world.find(place, CONFIGMAPS, name) for place in sorted(wanted)]
            if source is not None and any(copy is not None and copy["data"] != source["data"] for copy in copies):
                found.append(f"least power: a copy of {name} is not as {user} wrote it")
    return found


async def _places(history: _History, user: str) -> dict[str, set[str]]:
    """Return in which clusters each object of a user is."""
    found: dict[str, set[str]] = {}
    for number in _NUMBERS:
        name = f"{user}-{number}"
        found[name] = {place for place in _MEMBERS if await history.world.find(place, CONFIGMAPS, name) is not None}
    return found
