"""`hanse doors`: which doors of clusters are open; opening and closing them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import yaml

from hanse.api.admiralty.keys import ELECT, ENABLED, NAMESPACE_LABEL, PODS_DOOR
from hanse.api.metacontroller.kinds import COMPOSITES_DOOR
from hanse.api.planetscale.kinds import VITESS_DOOR
from hanse.cli.asking import confirmed
from hanse.cli.composite_door import CompositeWish
from hanse.cli.composite_door_telling import disable_composites, enable_composites, parse_kinds
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.door_closing import close_door
from hanse.cli.door_members import SignIn
from hanse.cli.door_opening import Opened, OpeningWish, open_door
from hanse.cli.door_status import COLUMNS, DoorState, read_states
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import output_option, show
from hanse.cli.running import run
from hanse.cli.vitess_door import VitessWish, disable_vitess, enable_vitess
from hanse.clusters.kubeconfigs import HIDDEN
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj
from hanse.kube.resources import SECRETS

_DOORS = click.Choice([PODS_DOOR, COMPOSITES_DOOR, VITESS_DOOR])


@click.group("doors")
def command() -> None:
    """Let pods of clusters run elsewhere, run their lambda controllers or VitessClusters; or see where that is so."""


def _sign_in_options(decorated: Any) -> Any:
    decorated = click.option("--context", "member_context", default="", help="The context of CLUSTER in that file.")(
        decorated
    )
    return click.option(
        "--kubeconfig",
        "member_kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A kubeconfig of somebody who may define kinds and roles in the clusters, with a context for each; where "
        "it has none of a cluster, Hanse's own credentials are used.",
    )(decorated)


@command.command("enable")
@click.argument("door", type=_DOORS)
@click.option("--cluster", required=True, metavar="NAME", help="The cluster whose door it is.")
@click.option("--targets", default=None, metavar="NAME,...", help="pods: where they may run (default: all clusters).")
@click.option(
    "--image", default="", help="pods: an image in which `hanse` is the entry point, which admits pods in the cluster."
)
@click.option("--admission-url", default="", metavar="URL", help="pods: where `hanse agent admission` answers instead.")
@click.option(
    "--wait",
    "wait_seconds",
    type=click.FloatRange(min=0),
    default=120.0,
    metavar="SECONDS",
    help="pods: wait so long for it.",
)
@click.option(
    "--kinds", default="", metavar="KIND,...", help="composites: what they may write, such as deployments.apps."
)
@click.option(
    "--hook-namespaces",
    default="",
    metavar="NAME,...",
    help="composites: the namespaces whose Secrets and ConfigMaps hooks may read (default: none).",
)
@click.option(
    "--take-over", is_flag=True, help="composites, vitess: replace another operator's definitions, once it is stopped."
)
@_sign_in_options
@click.option("--dry-run", is_flag=True, help="Print what would be written and where, with secrets hidden.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How --dry-run prints.")
@host_options
def enable(
    door: str,
    cluster: str,
    targets: str | None,
    image: str,
    admission_url: str,
    wait_seconds: float,
    kinds: str,
    hook_namespaces: str,
    take_over: bool,
    member_kubeconfig: Path | None,
    member_context: str,
    dry_run: bool,
    output: str,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Let the annotated pods of a cluster run in others, or run the lambda controllers or VitessClusters that it has.

    \b
    Examples:
      hanse doors enable pods --cluster eu --image registry.example/hanse:1 --kubeconfig admin.yaml --dry-run
      hanse doors enable pods --cluster eu --targets eu,us --image registry.example/hanse:1 --kubeconfig admin.yaml
      hanse doors enable composites --cluster eu --kinds catsets.example.com,pods --kubeconfig admin.yaml
      hanse doors enable vitess --cluster eu --kubeconfig admin.yaml

    pods: defines Admiralty's kinds in the cluster and in its targets, gives Hanse's account there the rights that this
    needs, runs an admission server in the cluster, has its API server call that, and lets its pods use the targets.
    Said again it brings all of that up to date; targets that are not named any more stay until their ClusterTarget is
    deleted.

    composites: defines Metacontroller's kinds in the cluster and gives Hanse's account there the rights to them, to the
    kinds of parents and children that --kinds names, and to whatever a ClusterRole allows that has the label
    hanse.dev/composites=rights. Whoever may create controllers there acts with these rights.

    vitess: defines the kinds of planetscale.com/v2 in the cluster and gives Hanse's account there the rights to them
    and to what VitessClusters consist of.
    """
    sign_in = _sign_in(member_kubeconfig, member_context, cluster)
    if door == VITESS_DOOR:
        if targets is not None or image or admission_url or kinds or hook_namespaces:
            raise Misuse("vitess needs none of --targets, --image, --admission-url, --kinds and --hook-namespaces")
        wanted = VitessWish(cluster, take_over, sign_in)
        enable_vitess(lambda: host_endpoint(data_dir, kubeconfig, context), wanted, output if dry_run else "")
        return
    if door == COMPOSITES_DOOR:
        if targets is not None or image or admission_url:
            raise Misuse("--targets, --image and --admission-url are for pods; composites need none of them")
        composites = CompositeWish(cluster, parse_kinds(kinds), _words(hook_namespaces), take_over, sign_in)
        enable_composites(lambda: host_endpoint(data_dir, kubeconfig, context), composites, output if dry_run else "")
        return
    if kinds or hook_namespaces or take_over:
        raise Misuse("--kinds, --hook-namespaces and --take-over are for composites; pods need none of them")
    wish = OpeningWish(
        cluster=cluster,
        targets=_names(targets),
        image=image,
        url=admission_url,
        sign_in=sign_in,
        wait_seconds=wait_seconds,
    )
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        opened = run(lambda: open_door(endpoint, wish, writes=not dry_run))
    if dry_run:
        _show(opened, output)
        return
    click.echo(f"pods of cluster {cluster} may run in {', '.join(opened.targets)}")
    for note in opened.notes:
        click.echo(f"note: {note}")
    click.echo(
        f"elect them: label their namespace with {NAMESPACE_LABEL}={ENABLED}, annotate their template with {ELECT}"
    )


@command.command("disable")
@click.argument("door", type=_DOORS)
@click.option("--cluster", required=True, metavar="NAME", help="The cluster whose door it is.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--wait",
    "wait_seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    metavar="SECONDS",
    help="Wait so long for pods to end.",
)
@_sign_in_options
@host_options
def disable(
    door: str,
    cluster: str,
    yes: bool,
    wait_seconds: float,
    member_kubeconfig: Path | None,
    member_context: str,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Let the pods of a cluster run elsewhere no longer, or run its lambda controllers or VitessClusters no longer.

    Says first what becomes of those that do, and asks. Pods are stopped where they run and made again by their
    controllers, at home; what has ended stays as it is. Controllers, parents and children stay as they are. Nothing
    keeps a finalizer of Hanse's. The kinds and the targets that others have made stay.
    """

    def agreed(warning: str) -> bool:
        click.echo(warning)
        return yes or confirmed(f"close the door of {cluster}?")

    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        sign_in = _sign_in(member_kubeconfig, member_context, cluster)
        if door == COMPOSITES_DOOR:
            disable_composites(endpoint, cluster, sign_in, wait_seconds, agreed)
            return
        if door == VITESS_DOOR:
            disable_vitess(endpoint, cluster, sign_in, agreed)
            return
        closed = run(lambda: close_door(endpoint, cluster, sign_in, wait_seconds, agreed))
    if closed is None:
        raise Failure("nothing was changed")
    for line in closed.lines:
        click.echo(line)
    if closed.left:
        raise Failure("; ".join(closed.left))


@command.command("status")
@host_options
@output_option()
def status(data_dir: Path | None, kubeconfig: Path | None, context: str, output: str) -> None:
    """Show which doors are open, to how many ready targets clusters send pods, and how many run there."""
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        states = run(lambda: _read(endpoint))
    document = {"items": [state.document() for state in states]}
    show(output, COLUMNS, [state.row() for state in states], document, [f"cluster/{each.cluster}" for each in states])


async def _read(endpoint: Endpoint) -> list[DoorState]:
    async with connected(endpoint) as host:
        return await read_states(host)


def _names(said: str | None) -> tuple[str, ...]:
    """Return the clusters of a list, () where none was given; an empty list is not taken to mean all of them."""
    names = tuple(name.strip() for name in (said or "").split(",") if name.strip())
    if said is not None and not names:
        raise Misuse("--targets: name at least one cluster, or leave it out to let pods run in all of them")
    return names


def _words(said: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in said.split(",") if word.strip()))


def _sign_in(path: Path | None, context: str, cluster: str) -> SignIn:
    if context and path is None:
        raise Misuse("--context: needs --kubeconfig")
    return SignIn(path, context, cluster)


def _show(opened: Opened, output: str) -> None:
    """Print everything that would be written, place by place."""
    if output == "json":
        places: dict[str, list[Obj]] = {}
        for where, obj in _written(opened):
            places.setdefault(where, []).append(obj)
        click.echo(json.dumps(places, indent=2))
        return
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    for where, obj in _written(opened):
        click.echo(f"---\n# {where}\n{yaml.dump(obj, Dumper=dumper, sort_keys=False)}", nl=False)
    for note in opened.notes:
        click.echo(f"# {note}")


def _written(opened: Opened) -> Iterator[tuple[str, Obj]]:
    planned = opened.opening
    for name, manifests in planned.targets.items():
        for obj in manifests:
            yield f"in the cluster {name}", _hidden(obj)
    for obj in (*planned.own, *planned.calling):
        yield f"in the cluster {planned.source}", _hidden(obj)
    for obj in planned.host:
        yield "in the federation", _hidden(obj)


def _hidden(obj: Obj) -> Obj:
    if obj["kind"] != SECRETS.kind:
        return obj
    return {**obj, **{field: dict.fromkeys(obj[field], HIDDEN) for field in ("data", "stringData") if field in obj}}
