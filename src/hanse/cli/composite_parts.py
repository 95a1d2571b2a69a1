"""Lambda controllers put together: those of the federation act on it, those of a cluster whose door is open in that."""

from __future__ import annotations

import asyncio
from functools import partial

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, COMPOSITES_DOOR
from hanse.cli.failures import Misuse
from hanse.cli.open_doors import OpenDoors
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.composite.hosting.elsewhere import Elsewhere
from hanse.composite.hosting.measuring import HookMetrics
from hanse.composite.hosting.named_objects import open_reading_hook
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.server import ControllerServer
from hanse.composite.hosting.shelf import CacheShelf
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Forbidden
from hanse.kube.events import EventRecorder
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CRDS
from hanse.kube.selectors import LabelSelector
from hanse.kube.transport import Unreachable
from hanse.propagation.viewing import View

log = Log("hanse")

# As whom objects are written and Events told, by which people know what did it.
COMPONENT = "metacontroller"
NO_KINDS = "it does not serve the kinds of lambda controllers"
SOMEBODY_ELSES = (
    "its CompositeControllers are Metacontroller's, whose definition keeps no conditions; to have Hanse run them, stop "
    "Metacontroller there and apply Hanse's definitions (for a member `hanse doors enable composites` does that)"
)
_AGAIN_SECONDS = 5.0


def require_selector(text: str, option: str) -> str:
    """Return a label selector of the command line if servers can read it; raises Misuse."""
    try:
        LabelSelector.parse(text)
    except ValueError as error:
        raise Misuse(f"{option}: {error}") from error
    return text


def keeps_conditions(definition: Obj) -> bool:
    """Tell whether a definition of controllers is Hanse's: Metacontroller's own keeps nothing of a status."""
    return any(
        "status" in (version.get("subresources") or {})
        and "conditions" in dig(version, "schema", "openAPIV3Schema", "properties", "status", "properties", default={})
        for version in dig(definition, "spec", "versions", default=())
    )


async def obstacle(client: Client) -> str:
    """Say why lambda controllers of a cluster are left alone, "" where they are Hanse's to run; raises ApiError."""
    try:
        found = await client.find(CRDS, COMPOSITE_CONTROLLERS.group_resource)
    except Forbidden as error:
        return str(error)
    if found is None:
        return NO_KINDS
    return "" if keeps_conditions(found) else SOMEBODY_ELSES


def place_in(
    client: Client, *, trusted: bool, folders: tuple[str, ...] = (), elsewhere: Elsewhere | None = None
) -> Place:
    """Return a cluster as a place for lambda controllers; `trusted` ones may run Python on this machine.

    Where there is something `elsewhere`, children may be in other clusters.
    """
    acting = Client(client.transport, client.runtime, manager=COMPONENT)
    opening = partial(open_reading_hook, client=acting, trusted=trusted, folders=folders)
    return Place(acting, CacheShelf(acting), EventRecorder(acting, COMPONENT), opening, elsewhere)


async def run_controllers(
    client: Client,
    *,
    trusted: bool,
    labels: str = "",
    elsewhere: Elsewhere | None = None,
    metrics: HookMetrics | None = None,
    cluster: str = "",
) -> None:
    """Run the lambda controllers of one cluster until cancelled, as soon as they are Hanse's to run."""
    said = ""
    while (why := await _asked(client)) != "":
        if why is not None and why != said:
            log.warning("Lambda controllers are left alone", cluster=client.address, why=why)
            said = why
        await client.runtime.sleep(_AGAIN_SECONDS)
    place = place_in(client, trusted=trusted, elsewhere=elsewhere)
    await ControllerServer(place, labels=labels, metrics=metrics, cluster=cluster).run()


async def _asked(client: Client) -> str | None:
    """Return what stands in the way, None where the server does not answer."""
    try:
        return await obstacle(client)
    except (ApiError, Unreachable):
        return None


class CompositeParts:
    """Runs the lambda controllers of a federation and of all its clusters whose door is open."""

    def __init__(
        self, host: Client, registry: Registry, view: View, labels: str = "", metrics: HookMetrics | None = None
    ) -> None:
        """Of the controller objects only those that the selector `labels` matches are run. Made before the registry
        runs. The `view` of the engine tells what members have of children in other clusters.
        """
        self._metrics = metrics or HookMetrics(host.runtime)
        self._elsewhere = Elsewhere(view, registry)
        self._host = host
        self._labels = labels
        self._doors = OpenDoors(registry, COMPOSITES_DOOR)
        registry.attach(self._serve)

    async def run(self) -> None:
        """Work until cancelled, along with the registry."""
        self._doors.follow()
        # Whoever writes controllers on the federation may use this machine; whoever does in a member need not.
        await run_controllers(
            self._host, trusted=True, labels=self._labels, elsewhere=self._elsewhere, metrics=self._metrics
        )

    async def _serve(self, member: Member | PullMember) -> None:
        """Run the controllers of a cluster for as long as its door is open."""
        if isinstance(member, PullMember):
            # Nobody here reaches it.
            await asyncio.Event().wait()
            return
        await self._doors.while_open(member.name, lambda: self._act_in(member))

    async def _act_in(self, member: Member) -> None:
        log.info("Lambda controllers of a cluster are run", member=member.name)
        await run_controllers(
            member.client, trusted=False, labels=self._labels, metrics=self._metrics, cluster=member.name
        )
