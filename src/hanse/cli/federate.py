"""`hanse federate`: make federated objects of plain ones, one by one, from a file, or a namespace with its contents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import click

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.type_configs import FederatedType
from hanse.api.names import FEDERATE_ANNOTATION, FINALIZER, OWNER_ANNOTATION
from hanse.cli.company import observe_copies
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.enabling import type_manifests, write_type
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.federated_types import federated_type, one_kind
from hanse.cli.federating import as_it_is, federated_manifest, guessed_type, kinds_within, left_behind, why_left
from hanse.cli.naming import find_source
from hanse.cli.output import Column, output_option, show, show_documents
from hanse.cli.running import run
from hanse.cli.yaml_files import read_manifests
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, annotations_of, finalizers_of, key_of, name_of, uid_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.propagation.intent import Ref
from hanse.propagation.planning import Observation

_COLUMNS = (Column("OBJECT"), Column("FEDERATED AS"), Column("STATE"))
_LETTING_GO_SECONDS = 60.0

Observe: TypeAlias = Callable[[Client, Resource, Key], Awaitable[Mapping[str, Observation]]]


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line."""

    kind: str
    name: str
    namespace: str
    contents: bool
    skip: tuple[str, ...]
    enable: bool
    writes: bool
    assumes: bool
    """Whether a kind without a federated type is taken to have the one that it would get."""


@dataclass(frozen=True, slots=True)
class Step:
    """A plain object, and the federated one that is made of it or the reason why none is."""

    resource: Resource
    obj: Obj
    manifest: Obj = field(default_factory=dict)
    federated: Resource | None = None
    skipped: str = ""
    held: bool = False
    """Whether Hanse has carried the plain object into clusters."""
    done: str = ""

    @property
    def named(self) -> str:
        """How people are told of the plain object."""
        return f"{self.resource.group_resource}/{key_of(self.obj)}"

    def row(self) -> list[str]:
        """Return the cells of its line in a table."""
        told = f"skipped: {self.skipped}" if self.skipped else self.done
        return [self.named, self.federated.group_resource if self.federated else "", told]


@click.command("federate")
@click.argument("words", nargs=-1, metavar="[TYPE NAME]")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: default, else where it is).")
@click.option(
    "-f", "--filename", "files", multiple=True, help="Print the federated form of the manifests in a file, or - ."
)
@click.option("-c", "--contents", is_flag=True, help="Federate a namespace together with what is in it.")
@click.option(
    "-s", "--skip-api-resources", "skip", default="", help="With --contents: kinds or groups to leave out, with commas."
)
@click.option("-t", "--enable-type", "enable", is_flag=True, help="Enable kinds that have no federated type yet.")
@click.option("--dry-run", is_flag=True, help="Say what would be made, and change nothing.")
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    files: tuple[str, ...],
    contents: bool,
    skip: str,
    enable: bool,
    dry_run: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Make a federated object of a plain one: `hanse federate deployment web`.

    It goes to all clusters until its placement says otherwise. What Hanse carried into clusters for the plain object
    is handed over as it is, replicas and all, without a restart; the plain object stays and means nothing to them any
    more. With -o yaml or -o json the federated objects are printed and nothing is written; so it is with -f.
    """
    if files:
        if words:
            raise Misuse("-f takes what is in the file; leave out the kind and the name")
        _show_files(files)
        return
    wish = _wish(words, namespace, contents, skip, enable, dry_run, output)
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        steps = run(lambda: _federate(endpoint, wish))
    _show(output, steps)
    for step in steps:
        if not step.skipped and (lost := left_behind(step.obj)):
            click.echo(f"warning: {step.named}: {lost}", err=True)


def _wish(
    words: tuple[str, ...], namespace: str, contents: bool, skip: str, enable: bool, dry_run: bool, output: str
) -> Wish:
    kind, name = (words[0].partition("/")[::2] if len(words) == 1 else words) if len(words) in (1, 2) else ("", "")
    if not kind or not name:
        raise Misuse("name the object to federate, e.g. `hanse federate deployment web`, or give a file with -f")
    prints = output in ("yaml", "json")
    if enable and prints:
        raise Misuse(f"-t enables a kind, and -o {output} writes nothing; choose one of them")
    return Wish(
        kind,
        name,
        namespace,
        contents,
        tuple(skip.split(",")) if skip else (),
        enable=enable,
        writes=not prints and not dry_run,
        assumes=prints or (enable and dry_run),
    )


def _show_files(files: Sequence[str]) -> None:
    for obj in read_manifests([Path(name) for name in files], "-f"):
        if not isinstance(obj.get("metadata"), dict) or not obj["metadata"].get("name"):
            raise Misuse(f"-f: a {obj['kind']} has no metadata.name; a federated object needs one")
        show_documents([federated_manifest(obj, guessed_type(obj).federated)])


def _show(output: str, steps: Sequence[Step]) -> None:
    made = [step for step in steps if not step.skipped]
    if output == "yaml":
        show_documents([step.manifest for step in made])
    else:
        document = {"apiVersion": "v1", "kind": "List", "items": [step.manifest for step in made]}
        names = [f"{step.federated.group_resource}/{name_of(step.obj)}" for step in made if step.federated]
        show(output, _COLUMNS, [step.row() for step in steps], document, names)
    if output in ("yaml", "json", "name"):
        for step in steps:
            if step.skipped:
                click.echo(f"skipped {step.named}: {step.skipped}", err=True)


async def _federate(endpoint: Endpoint, wish: Wish) -> list[Step]:
    async with connected(endpoint) as host:
        return await federate(host, wish)


async def federate(host: Client, wish: Wish, observe: Observe | None = None) -> list[Step]:
    """Make federated objects of plain ones; `observe` asks members for copies, over the network if it is not given."""
    planned = [await _seen(host, step, observe or _observe) for step in await _planned(host, wish)]
    made = [await _make(host, step) if wish.writes else replace(step, done="would be made") for step in planned]
    if not wish.contents and made[0].skipped:
        raise Failure(f"{made[0].named}: {made[0].skipped}; nothing was changed")
    return made


async def _observe(host: Client, resource: Resource, key: Key) -> Mapping[str, Observation]:
    ref = Ref(resource, key)
    return (await observe_copies(host, await read_clusters(host), [ref]))[ref]


async def _seen(host: Client, step: Step, observe: Observe) -> Step:
    """Have the federated object leave clusters what they have of the plain one, if Hanse carried it there."""
    if step.skipped or FINALIZER not in finalizers_of(step.obj) or step.resource == NAMESPACES:
        return step
    found = await observe(host, step.resource, key_of(step.obj))
    if unseen := sorted(cluster for cluster, seen in found.items() if not seen.seen):
        return replace(step, skipped=f"{', '.join(unseen)} cannot be asked for what it has of it")
    uid = uid_of(step.obj)
    own = {cluster: seen.copy if _is_copy(seen.copy, uid) else None for cluster, seen in found.items()}
    return replace(step, manifest=as_it_is(step.manifest, own), held=True)


def _is_copy(found: Obj | None, uid: str) -> bool:
    return found is not None and annotations_of(found).get(OWNER_ANNOTATION) == uid


async def _planned(host: Client, wish: Wish) -> list[Step]:
    resource = await one_kind(host, wish.kind)
    if wish.contents and resource != NAMESPACES:
        raise Misuse("--contents is for namespaces: `hanse federate namespace NAME --contents`")
    obj = resource.name_kind(await find_source(host, resource, Key(wish.namespace, wish.name)))
    known = await _type_of(host, resource, wish)
    if known is None:
        raise Failure(
            f"{resource.group_resource} have no federated type; -t gives them one, "
            f"and so does `hanse enable {resource.group_resource}`"
        )
    steps = [_step(resource, obj, known)]
    if wish.contents:
        for kind in kinds_within(await host.discovery.resources(), wish.skip):
            steps += await _within(host, kind, wish)
    return steps


async def _within(host: Client, kind: Resource, wish: Wish) -> list[Step]:
    """Return what becomes of the objects of one kind in a namespace; nothing is asked of kinds that have none there."""
    listed = [kind.name_kind(obj) for obj in (await host.list(kind, wish.name)).items]
    reasons = [why_left(obj) for obj in listed]
    known = None if all(reasons) else await _type_of(host, kind, wish)
    untyped = f"its kind has no federated type; -t or `hanse enable {kind.group_resource}` gives it one"
    return [
        _step(kind, obj, known) if known is not None and not why else Step(kind, obj, skipped=why or untyped)
        for obj, why in zip(listed, reasons, strict=True)
    ]


def _step(resource: Resource, obj: Obj, known: FederatedType) -> Step:
    return Step(resource, obj, federated_manifest(obj, known.federated), known.federated)


async def _type_of(host: Client, target: Resource, wish: Wish) -> FederatedType | None:
    known = await federated_type(host, target)
    if known is None and wish.assumes:
        return FederatedType(target, template_resource(FORM_D, target))
    if known is None and wish.enable and wish.writes:
        for written in await write_type(host, await type_manifests(host, target, FORM_D)):
            click.echo(str(written), err=True)
        return await federated_type(host, target)
    return known


async def _make(host: Client, step: Step) -> Step:
    federated = step.federated
    if step.skipped or federated is None:
        return step
    key = key_of(step.manifest)
    if await host.find(federated, key.name, key.namespace) is not None:
        return replace(step, skipped="a federated object of its name exists already")
    if step.held:
        await _hand_over(host, step)
    await host.create(federated, step.manifest)
    return replace(step, done="made, copies handed over" if step.held else "made")


async def _hand_over(host: Client, step: Step) -> None:
    """Have the plain object let its copies go, which stay as they are, for the federated object to take over."""
    key = key_of(step.obj)
    patch = {"metadata": {"annotations": {FEDERATE_ANNOTATION: "false"}}}
    await host.patch(step.resource, key.name, patch, key.namespace)
    end = host.runtime.monotonic() + _LETTING_GO_SECONDS
    while FINALIZER in finalizers_of(await host.get(step.resource, key.name, key.namespace)):
        if host.runtime.monotonic() >= end:
            raise Failure(
                f"{step.named} is still held after {_LETTING_GO_SECONDS:g} s: a cluster that has a copy does not "
                "answer, or no control plane runs; try again when that is over"
            )
        await host.runtime.sleep(0.1)
