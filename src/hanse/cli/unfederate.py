"""`hanse unfederate`: make plain objects of federated ones again, without touching what clusters have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from hanse.api.kubefed.forms import FORM_D, TYPED_OVERRIDES, Form, OverrideStyle, override_resource, placement_resource
from hanse.api.kubefed.objects import FederatedObject, FieldProblem, WrittenPlacement, read_split, read_whole
from hanse.api.kubefed.preferences import preference_resource
from hanse.api.kubefed.scheduling import SchedulingPreference, read_scheduling_preference
from hanse.api.kubefed.type_configs import FederatedType
from hanse.api.names import FEDERATE_ANNOTATION
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.federated_types import one_kind, type_of_objects
from hanse.cli.naming import find_source, parse_named, require_name
from hanse.cli.output import Column, output_option, show, show_documents
from hanse.cli.running import run
from hanse.cli.unfederating import Plain, plain_of
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, annotations_of, key_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.selectors import LabelSelector

_COLUMNS = (Column("OBJECT"), Column("PLAIN AS"), Column("STATE"))


@dataclass(frozen=True, slots=True)
class Unfederated:
    """What became of a federated object."""

    known: FederatedType
    source: Obj
    plain: Plain
    state: str

    @property
    def documents(self) -> list[Obj]:
        """The manifests that take its place."""
        return [self.plain.obj, *([self.plain.policy] if self.plain.policy else [])]


@click.command("unfederate")
@click.argument("words", nargs=-1, required=True, metavar="TYPE NAME")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: default, else where it is).")
@click.option(
    "--wait", "seconds", type=float, default=60.0, show_default=True, help="Seconds to wait for the clusters."
)
@click.option("--dry-run", is_flag=True, help="Say what would be made, and change nothing.")
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    seconds: float,
    dry_run: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Make a plain object of a federated one: `hanse unfederate federateddeployment web`.

    The template becomes the object, placement and overrides become a PlacementPolicy, and the plain object takes over
    the copies as they are. With -o yaml or -o json both are printed and nothing is written.
    """
    named = require_name(parse_named(words, "unfederate"), "unfederate")
    writes = not dry_run and output not in ("yaml", "json")
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        done = run(lambda: _unfederate(endpoint, named.kind, Key(namespace, named.name), seconds, writes=writes))
    _show(output, done)


def _show(output: str, done: Unfederated) -> None:
    target = done.known.target
    name = f"{target.group_resource}/{key_of(done.plain.obj)}"
    if output == "yaml":
        show_documents(done.documents)
    else:
        document = {"apiVersion": "v1", "kind": "List", "items": done.documents}
        row = [f"{done.known.federated.group_resource}/{key_of(done.source)}", name, done.state]
        show(output, _COLUMNS, [row], document, [name])
    for note in done.plain.notes:
        click.echo(f"note: {note}", err=True)


async def _unfederate(endpoint: Endpoint, word: str, key: Key, seconds: float, *, writes: bool) -> Unfederated:
    async with connected(endpoint) as host:
        return await unfederate(host, word, key, seconds, writes=writes)


async def unfederate(host: Client, word: str, key: Key, seconds: float, *, writes: bool = True) -> Unfederated:
    """Make a plain object of a federated one, and wait so many seconds for clusters to let its copies go."""
    known = await type_of_objects(host, await one_kind(host, word))
    source = known.federated.name_kind(await find_source(host, known.federated, key))
    plain = await _plain(host, known, source)
    if not writes:
        return Unfederated(known, source, plain, "would be made")
    await _write(host, known, source, plain, seconds)
    return Unfederated(known, source, plain, "made, copies handed over")


async def _plain(host: Client, known: FederatedType, source: Obj) -> Plain:
    key = key_of(source)
    preference = await _preference(host, known, key)
    said = await _said(host, known, source)
    plain = plain_of(key, known.target, said, preference, await _chosen(host, said.placement))
    if isinstance(plain, str):
        raise Failure(f"{known.federated.group_resource}/{key} cannot be made plain: {plain}")
    return plain


async def _said(host: Client, known: FederatedType, source: Obj) -> FederatedObject:
    form = _form(known)
    if not form.three_objects:
        return read_whole(source, form)
    key = key_of(source)
    placement = await _part(host, placement_resource(form, known.target), key)
    override = await _part(host, override_resource(form, known.target), key)
    typed = TYPED_OVERRIDES.get(known.target.kind, ()) if form.overrides is OverrideStyle.FIELD else ()
    return read_split(source, placement, override, form, typed)


def _form(known: FederatedType) -> Form:
    return known.form or FORM_D


async def _chosen(host: Client, placement: WrittenPlacement | FieldProblem) -> list[str]:
    """Return the clusters that a selector chooses now."""
    if isinstance(placement, FieldProblem) or placement.clusters is not None or placement.selector is None:
        return []
    try:
        selector = LabelSelector.from_object(placement.selector)
    except ValueError as error:
        raise Failure(f"its clusterSelector cannot be read: {error}") from error
    return [cluster.name for cluster in await read_clusters(host) if selector.matches(cluster.labels)]


async def _part(host: Client, resource: Resource | None, key: Key) -> Obj | None:
    return await host.find(resource, key.name, key.namespace) if resource is not None else None


async def _preference(host: Client, known: FederatedType, key: Key) -> SchedulingPreference | None:
    found = await host.find(preference_resource(_form(known)), key.name, key.namespace)
    if found is None or found["spec"].get("targetKind") != known.federated.kind:
        return None
    read = read_scheduling_preference(found)
    if isinstance(read, FieldProblem):
        raise Failure(f"the ReplicaSchedulingPreference {key} cannot be read: {read}")
    return read


async def _write(host: Client, known: FederatedType, source: Obj, plain: Plain, seconds: float) -> None:
    """Put the plain object in the federated one's place.

    It is there, and means nothing to clusters, before the federated object goes; interrupted anywhere, the command
    is run again, or the annotation that holds the plain object back is taken off.
    """
    await _put_back(host, known.target, plain.obj)
    if plain.policy is not None:
        await host.apply(PLACEMENT_POLICIES if known.target.namespaced else CLUSTER_PLACEMENT_POLICIES, plain.policy)
    await _let_go(host, known, source, seconds)
    if FEDERATE_ANNOTATION not in annotations_of(plain.obj):
        free = {"metadata": {"annotations": {FEDERATE_ANNOTATION: None, **annotations_of(plain.obj)}}}
        key = key_of(plain.obj)
        await host.patch(known.target, key.name, free, key.namespace)


async def _put_back(host: Client, target: Resource, obj: Obj) -> None:
    """Write the plain object, held back from clusters; one that is there keeps what the template is silent of."""
    if target == NAMESPACES:
        # It was there all the time, and its copies follow it as soon as nothing else speaks for it.
        return
    held = {**annotations_of(obj), FEDERATE_ANNOTATION: "false"}
    await host.apply(target, {**obj, "metadata": {**obj["metadata"], "annotations": held}})


async def _let_go(host: Client, known: FederatedType, source: Obj, seconds: float) -> None:
    key = key_of(source)
    form = _form(known)
    orphan = {"metadata": {"annotations": {form.orphan_annotation: "true"}}}
    await host.patch(known.federated, key.name, orphan, key.namespace)
    parts = (known.federated, placement_resource(form, known.target), override_resource(form, known.target))
    end = host.runtime.monotonic() + seconds
    for part in parts:
        if part is None:
            continue
        try:
            await host.delete(part, key.name, key.namespace)
        except NotFound:
            continue
        while await host.find(part, key.name, key.namespace) is not None:
            if host.runtime.monotonic() >= end:
                raise Failure(
                    f"{part.group_resource}/{key} is still there after {seconds:g} s: a cluster that has a copy does "
                    "not answer, or no control plane runs; run the command again when that is over"
                )
            await host.runtime.sleep(0.1)
