"""The reading and writing of `hanse migrate shipper`; what becomes of each release is decided in rollouts/migration.py.

Every step can be repeated: what was done is found done. An InstallationTarget is written on last of all, after the
Pieces that it names: until then a release is Shipper's, and nothing of Hanse acts on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.api.cluster_forms import FORM_CRDS, SHIPPER_CLUSTERS
from hanse.api.clusters import CLUSTERS
from hanse.api.pieces import PIECES
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import APP_LABEL, APPLICATIONS, GROUP, INSTALLATION_TARGETS, RELEASES, SYSTEM_NAMESPACE
from hanse.cli.failures import Failure
from hanse.cli.federating import why_left_out
from hanse.cli.migrating import ClusterPlan, cluster_plan
from hanse.cli.rollout_finding import list_rollouts
from hanse.clusters.forms import FORMS
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, ApiError, BadRequest, Conflict, Forbidden, NotFound
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    controller_of,
    dig,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
    version_of,
)
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, Resource
from hanse.kube.transport import Unreachable
from hanse.native.rules import travelling
from hanse.propagation.comparison import covers
from hanse.rollouts.migration import Held, ReleasePlan, Step, plan_release

WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
_DEFINITIONS = (*SHIPPER_CRDS, *(crd for crd in FORM_CRDS if dig(crd, "spec", "group") == GROUP))
_FORM = next(form for form in FORMS if form.resource == SHIPPER_CLUSTERS)
# It only counts what there is, and hurts nobody.
_METRICS = "shipper-state-metrics"


@dataclass(frozen=True, slots=True)
class Definition:
    """One of Shipper's definitions, None where it is not there, and the one that takes its place."""

    present: Obj | None
    wanted: Obj

    @property
    def step(self) -> Step:
        """What becomes of it."""
        done = self.present is not None and covers(self.present["spec"], self.wanted["spec"], None)
        return Step.HAVE if done else Step.TAKE


@dataclass(frozen=True, slots=True)
class Migration:
    """All that is to be taken over from a Shipper."""

    clusters: tuple[ClusterPlan, ...]
    definitions: tuple[Definition, ...]
    webhooks: tuple[Obj, ...]
    releases: tuple[ReleasePlan, ...]

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to be written."""
        return (
            not self.webhooks
            and all(each.manifest is None for each in self.clusters)
            and all(each.step is Step.HAVE for each in self.definitions)
            and all(each.step is not Step.TAKE for each in self.releases)
        )

    @property
    def unanswered(self) -> list[str]:
        """The clusters of which it is not known what they have."""
        return [each.name for each in self.clusters if each.why]


async def who_runs(host: Client) -> str:
    """Say which of Shipper's own Deployments still has pods, "" where none has."""
    for deployment in (await host.list(DEPLOYMENTS, SYSTEM_NAMESPACE)).items:
        name, running = name_of(deployment), dig(deployment, "status", "replicas", default=0)
        if name.startswith("shipper") and name != _METRICS and running:
            return f"its Deployment {SYSTEM_NAMESPACE}/{name} has {running} pods; scale it to 0"
    return ""


async def read_cluster_plans(host: Client) -> tuple[ClusterPlan, ...]:
    """Say which Clusters those of Shipper become; raises Failure where there is no Shipper."""
    try:
        forms = (await host.list(SHIPPER_CLUSTERS)).items
        await host.list(APPLICATIONS)
    except NotFound as error:
        raise Failure(
            f"there is no Shipper here: this API server serves no kinds of {GROUP}; give the kubeconfig of the "
            "management cluster with --host-kubeconfig"
        ) from error
    return tuple(
        [await cluster_plan(_FORM, obj, lambda name: _find_cluster(host, name)) for obj in sorted(forms, key=name_of)]
    )


async def _find_cluster(host: Client, name: str) -> Obj | None:
    return await host.find(CLUSTERS, name) if await _serves_clusters(host) else None


async def _serves_clusters(host: Client) -> bool:
    return CLUSTERS in await host.discovery.resources()


async def read_migration(
    host: Client, clusters: Sequence[ClusterPlan], members: Mapping[str, Member | str]
) -> Migration:
    """Look at the host and at every member, and say what is to be done."""
    rollouts = await list_rollouts(host)
    anchors = [key_of(each.obj) for rollout in rollouts for each in rollout.releases]
    answers = await asyncio.gather(*(_held(member, anchors) for member in members.values()))
    told = dict(zip(members, answers, strict=True))
    held = {name: answer for name, answer in told.items() if not isinstance(answer, str)}
    releases = tuple(
        plan_release(each.obj, each.targets, held) for rollout in rollouts for each in reversed(rollout.releases)
    )
    definitions = tuple([Definition(await host.find(CRDS, name_of(crd)), crd) for crd in _DEFINITIONS])
    return Migration(tuple(_told(each, told) for each in clusters), definitions, await _webhooks(host), releases)


def _told(plan: ClusterPlan, answers: Mapping[str, object]) -> ClusterPlan:
    answer = answers.get(plan.name)
    return ClusterPlan(plan.name, plan.cluster, plan.manifest, answer) if isinstance(answer, str) else plan


async def _webhooks(host: Client) -> tuple[Obj, ...]:
    """Return the webhooks that would refuse every write to Shipper's kinds once nobody answers for them."""
    found = (await host.list(WEBHOOKS)).items

    def is_shippers(configuration: Obj) -> bool:
        rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
        return bool(rules) and all(rule.get("apiGroups") == [GROUP] for rule in rules)

    return tuple(each for each in found if is_shippers(each))


async def _held(member: Member | str, releases: Sequence[Key]) -> list[Held] | str:
    """Return what a member has of applications, or why that is not known."""
    if isinstance(member, str):
        return member
    try:
        found = [held for kind in await _kinds(member.client) for held in await _of_kind(member.client, kind)]
        return found + await _anchors(member.client, releases, found)
    except (ApiError, Unreachable) as error:
        return str(error)


async def _kinds(client: Client) -> list[Resource]:
    """Return the kinds of which an application may have objects, each once."""
    found: dict[str, Resource] = {}
    for kind in await client.discovery.resources():
        if {"list", "create"} <= kind.verbs and kind.group != GROUP and not why_left_out(kind):
            found.setdefault(kind.group_resource, kind)
    return list(found.values())


async def _of_kind(client: Client, kind: Resource) -> list[Held]:
    try:
        listed = (await client.list(kind, labels=APP_LABEL)).items
    except (NotFound, Forbidden, BadRequest):
        # Shipper's own account has few rights: what it may not list it has not written either.
        return []
    return [_as_held(kind, obj) for obj in listed if controller_of(obj) is None]


async def _anchors(client: Client, releases: Sequence[Key], found: Sequence[Held]) -> list[Held]:
    """Find anchors that carry no labels."""
    known = {key_of(held.obj) for held in found if held.resource == CONFIGMAPS}
    wanted = [Key(key.namespace, f"{key.name}-anchor") for key in releases]
    anchors = [await client.find(CONFIGMAPS, key.name, key.namespace) for key in wanted if key not in known]
    return [_as_held(CONFIGMAPS, obj) for obj in anchors if obj is not None]


def _as_held(kind: Resource, obj: Obj) -> Held:
    named = kind.name_kind(obj)
    return Held(kind, named, travelling(named))


async def take_over(host: Client, migration: Migration, members: Mapping[str, Member | str]) -> None:
    """Write what was decided; what could not be written as it was seen is left for another look."""
    for webhook in migration.webhooks:
        await host.delete(WEBHOOKS, name_of(webhook), uid=uid_of(webhook))
    for definition in migration.definitions:
        await _define(host, definition)
    for each in migration.clusters:
        if each.manifest is not None:
            await _create(host, CLUSTERS, each.manifest)
    for plan in migration.releases:
        if plan.step is Step.TAKE:
            try:
                await _take(host, plan, members)
            except Conflict:
                continue


async def _define(host: Client, definition: Definition) -> None:
    if definition.step is Step.HAVE:
        return
    if definition.present is None:
        await _create(host, CRDS, definition.wanted)
        return
    await host.update(CRDS, {**definition.present, "spec": definition.wanted["spec"]})


async def _create(host: Client, resource: Resource, obj: Obj) -> None:
    try:
        await host.create(resource, obj)
    except AlreadyExists:
        return


async def _take(host: Client, plan: ReleasePlan, members: Mapping[str, Member | str]) -> None:
    """Take one release over: its anchors' hold first, what commits it last."""
    for copy in plan.copies:
        member = members.get(copy.cluster)
        if copy.patch is not None and member is not None and not isinstance(member, str):
            await member.client.patch(copy.resource, copy.key.name, copy.patch, copy.key.namespace)
    for piece in plan.pieces:
        await _store(host, piece)
    key = key_of(plan.release)
    if plan.finalizers is not None:
        kept = {"resourceVersion": version_of(plan.release), "finalizers": [*plan.finalizers]}
        await host.patch(RELEASES, key.name, {"metadata": kept}, key.namespace)
    committed = {"metadata": {"annotations": dict(plan.annotations or {})}}
    await host.patch(INSTALLATION_TARGETS, key.name, committed, key.namespace)


async def _store(host: Client, piece: Obj) -> None:
    """Have exactly this Piece; one of an earlier attempt is replaced."""
    present = await host.find(PIECES, name_of(piece), namespace_of(piece))
    if present is None:
        await host.create(PIECES, piece)
    elif _content(present) != _content(piece):
        await host.update(PIECES, {**piece, "metadata": {**present["metadata"], **piece["metadata"]}})


def _content(piece: Obj) -> object:
    return piece["spec"], annotations_of(piece), labels_of(piece)
