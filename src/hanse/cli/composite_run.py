"""`hanse composite run`: one controller out of files, run in the foreground against any cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.metacontroller.kinds import (
    COMPOSITE_CONTROLLERS,
    CONTROLLER_REVISIONS,
    DECORATOR_CONTROLLERS,
    MAP_CONTROLLERS,
)
from hanse.cli.composite_files import Local, read_local
from hanse.cli.composite_parts import COMPONENT, place_in
from hanse.cli.connection import connected, host_endpoint
from hanse.cli.defining import define
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.metrics import metrics_option, read_listen, served_metrics
from hanse.cli.running import log_to, run, until_signalled
from hanse.composite.hooks.calling import HookFailed, HookUnusable
from hanse.composite.hosting.alone import run_alone
from hanse.composite.hosting.measuring import HookMetrics
from hanse.composite.hosting.place import UnknownKind, UnreadableKind
from hanse.composite.hosting.server import NotServed
from hanse.kube.client import Client
from hanse.kube.events import EventRecorder
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, key_of, name_of
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SystemRuntime

log = Log("hanse")

_KINDS = {kind.kind: kind for kind in (COMPOSITE_CONTROLLERS, DECORATOR_CONTROLLERS, MAP_CONTROLLERS)}


@click.command("run")
@click.argument("filename", type=click.Path(path_type=Path, exists=True), metavar="FILE.py|FILE.yaml|FOLDER")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the cluster (default: $KUBECONFIG, else that of `hanse up`, else ~/.kube/config).",
)
@click.option("--context", default="", help="The context in that file (default: its current one).")
@click.option("--install", is_flag=True, help="First define the kinds of which FILE has the definitions.")
@metrics_option
def command(filename: Path, kubeconfig: Path | None, context: str, install: bool, metrics_listen: str) -> None:
    """Run a controller that is in files against a cluster, until Ctrl-C; the cluster need not know of it.

    \b
    Examples:
      hanse composite run web-app --install
      hanse composite run hook.py --kubeconfig ~/.kube/config --context kind-dev

    Code is taken up as it changes. A Python file says what it controls in CONTROLLER = {...}, a controller object
    without hooks; these are its functions sync, finalize and so on. Children stay when this ends.
    """
    local = read_local(filename, "FILE")
    listen = read_listen(metrics_listen)
    log_to()
    with one_sentence():
        endpoint = host_endpoint(None, kubeconfig, context)
        run(lambda: until_signalled(_run(endpoint, local, listen, install=install)))


async def _run(endpoint: Endpoint, local: Local, listen: tuple[str, int] | None, *, install: bool) -> None:
    metrics = HookMetrics(SystemRuntime())
    async with connected(endpoint) as client, served_metrics(metrics.registry, listen):
        await _refuse_stored(client, local.controller)
        if install:
            await _define(client, local)
        place = place_in(client, trusted=True)
        place = replace(place, events=_ToldEvents(place.client, COMPONENT))

        def started() -> None:
            log.info("Started a controller; Ctrl-C ends it", controller=local.spec.name, cluster=client.address)

        try:
            await run_alone(local.controller, local.spec, place, started, metrics)
        except UnknownKind as error:
            raise Failure(f"{error}; --install defines the kinds of which FILE has the definitions") from error
        except (NotServed, UnreadableKind, HookFailed, HookUnusable) as error:
            raise Failure(str(error)) from error


async def _refuse_stored(client: Client, controller: Obj) -> None:
    """Refuse what the cluster has, too: somebody may run it already, and two would do everything twice."""
    kind = _KINDS[controller["kind"]]
    if await client.find(kind, name_of(controller)) is not None:
        raise Failure(
            f"{kind.kind} {name_of(controller)} is stored in the cluster, where it may be run already; delete it there "
            "first, or give this one another name"
        )


async def _define(client: Client, local: Local) -> None:
    definitions = [each for each in local.manifests if each["kind"] == CRDS.kind]
    if local.spec.rolls:
        definitions += [each for each in METACONTROLLER_CRDS if name_of(each) == CONTROLLER_REVISIONS.group_resource]
    await define(client, definitions)


class _ToldEvents(EventRecorder):
    """Events that whoever watches the terminal reads as well."""

    async def record(self, obj: Obj, reason: str, message: str, *, warning: bool = False) -> None:
        """Tell what happened to an object."""
        say = log.warning if warning else log.info
        say(message, reason=reason, object=f"{obj.get('kind', '')} {key_of(obj)}")
        await super().record(obj, reason, message, warning=warning)
