"""Runs one lambda controller that no cluster stores, as people do who write one."""

from __future__ import annotations

from collections.abc import Callable

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.composite.hosting.measuring import HookMetrics
from hanse.composite.hosting.opened import open_hooks
from hanse.composite.hosting.place import Place, find_kind, find_kinds, require_readable
from hanse.composite.hosting.server import hosted_controller, require_status
from hanse.composite.spec import ControllerSpec, KindRef
from hanse.kube.manifest import Obj


async def run_alone(
    controller: Obj, spec: ControllerSpec, place: Place, started: Callable[[], None], metrics: HookMetrics | None = None
) -> None:
    """Run a controller until cancelled; `started` is called once nothing stands in its way.

    Raises UnknownKind, UnreadableKind, NotServed, HookFailed and HookUnusable, each before anything was written.
    """
    kinds = await find_kinds(place.client, spec)
    require_status(spec, kinds)
    await require_readable(place.client, kinds.all)
    if spec.rolls:
        await find_kind(place.client, KindRef(CONTROLLER_REVISIONS.api_version, CONTROLLER_REVISIONS.plural))
    metrics = metrics or HookMetrics(place.client.runtime)
    hooks = metrics.measured(await open_hooks(spec.hooks, place.open_hook), spec)
    try:
        started()
        hosted = hosted_controller(controller, spec, kinds, hooks, place)
        metrics.count_waiting(spec, "", lambda: hosted.waiting)
        await hosted.run()
    finally:
        await hooks.close()
