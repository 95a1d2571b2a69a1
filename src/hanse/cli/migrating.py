"""The reading and writing of `hanse migrate kubefed`; what becomes of each object is decided in federated/migration.py.

Every step can be repeated: what was done is found done. Copies are marked before their federated object is, so that
whatever carries Hanse's finalizer has copies that Hanse knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from hanse.api.cluster_forms import KUBEFED_CLUSTERS
from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.cli.connection import connect_member
from hanse.cli.doors import read_inputs
from hanse.cli.failures import Misuse
from hanse.clusters.forms import FORMS, Form, FormError, read_form
from hanse.clusters.member import Member
from hanse.clusters.mirroring import mirrored_cluster
from hanse.federated import FederatedDoor
from hanse.federated.migration import KUBEFED_LABEL, ObjectPlan, Step, plan_object
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from hanse.kube.kubeconfig import KubeconfigError
from hanse.kube.manifest import Obj, key_of, name_of, uid_of, version_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.transport import Unreachable
from hanse.propagation.intent import Ref

_FORM = next(form for form in FORMS if form.resource == KUBEFED_CLUSTERS)


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """One KubeFedCluster: the Cluster that it becomes, whether there is one already, and why it cannot be reached."""

    name: str
    cluster: Cluster | None = None
    manifest: Obj | None = None
    why: str = ""

    @property
    def state(self) -> str:
        """What becomes of it in one word."""
        if self.cluster is None:
            return Step.LEAVE.value
        return Step.TAKE.value if self.manifest is not None else Step.HAVE.value


@dataclass(frozen=True, slots=True)
class Migration:
    """All that is to be taken over from a KubeFed."""

    clusters: tuple[ClusterPlan, ...]
    objects: tuple[ObjectPlan, ...]

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to be written."""
        return all(each.manifest is None for each in self.clusters) and all(each.is_done for each in self.objects)

    @property
    def unanswered(self) -> list[str]:
        """The clusters of which it is not known what they have."""
        return [each.name for each in self.clusters if each.why]


@asynccontextmanager
async def members_of(host: Client, plans: Sequence[ClusterPlan]) -> AsyncIterator[dict[str, Member | str]]:
    """Connect to the members of a KubeFed; one that cannot be connected to is the sentence that says why."""
    async with AsyncExitStack() as stack:
        members: dict[str, Member | str] = {}
        for each in plans:
            if each.cluster is None:
                continue
            try:
                member = await connect_member(host, each.cluster)
            except (ApiError, KubeconfigError, Misuse) as error:
                members[each.name] = str(error)
                continue
            stack.push_async_callback(member.client.close)
            members[each.name] = member
        yield members


async def read_cluster_plans(host: Client, namespace: str) -> tuple[ClusterPlan, ...]:
    """Say which Clusters the KubeFedClusters of a namespace become."""
    forms = (await host.list(KUBEFED_CLUSTERS, namespace)).items
    return tuple(
        [await cluster_plan(_FORM, obj, lambda name: host.find(CLUSTERS, name)) for obj in sorted(forms, key=name_of)]
    )


async def cluster_plan(form: Form, obj: Obj, find: Callable[[str], Awaitable[Obj | None]]) -> ClusterPlan:
    """Say which Cluster another system's cluster object becomes; `find` gives the one of a name that there is."""
    try:
        wanted = read_form(form, obj)
    except FormError as error:
        return ClusterPlan(name_of(obj), why=str(error))
    if wanted is None:
        return ClusterPlan(name_of(obj), why="it asks for no cluster")
    present = await find(wanted.name)
    manifest = mirrored_cluster(wanted, obj) if present is None else None
    return ClusterPlan(wanted.name, parse_cluster(present or mirrored_cluster(wanted, obj)), manifest)


async def read_migration(
    host: Client, clusters: Sequence[ClusterPlan], members: Mapping[str, Member | str]
) -> Migration:
    """Look at the host and at every member, and say what is to be done."""
    doors = (await read_inputs(host)).doors
    served = {(kind.group, kind.version, kind.plural) for kind in await host.discovery.resources()}
    sources: list[tuple[Resource, FederatedDoor, Obj]] = []
    for kind in doors.resources:
        door = doors.of(kind)
        if isinstance(door, FederatedDoor) and (kind.group, kind.version, kind.plural) in served:
            sources += [(kind, door, kind.name_kind(obj)) for obj in (await host.list(kind)).items]
    targets = {door.target(Ref(kind, key_of(obj))).resource for kind, door, obj in sources}
    answers = await asyncio.gather(*(_held(member, targets) for member in members.values()))
    told = dict(zip(members, answers, strict=True))
    held = {name: answer for name, answer in told.items() if not isinstance(answer, str)}
    known = [each.cluster for each in clusters if each.cluster is not None]
    own = await _own(host, members, held)
    objects = tuple(plan_object(kind, obj, door, known, held, own) for kind, door, obj in sources)
    return Migration(tuple(_told(each, told) for each in clusters), objects)


def _told(plan: ClusterPlan, answers: Mapping[str, object]) -> ClusterPlan:
    answer = answers.get(plan.name)
    return ClusterPlan(plan.name, plan.cluster, plan.manifest, answer) if isinstance(answer, str) else plan


async def _held(member: Member | str, kinds: set[Resource]) -> dict[Ref, Obj] | str:
    """Return what a member has with KubeFed's label, or why that is not known."""
    if isinstance(member, str):
        return member
    found: dict[Ref, Obj] = {}
    try:
        for kind in kinds:
            try:
                listed = await member.client.list(kind, labels=KUBEFED_LABEL)
            except NotFound:
                continue
            found |= {Ref(kind, key_of(obj)): obj for obj in listed.items}
    except (ApiError, Unreachable) as error:
        return str(error)
    return found


async def _own(host: Client, members: Mapping[str, Member | str], answering: Mapping[str, object]) -> set[str]:
    """Return the members that are the host itself."""
    uid = uid_of(await host.get(NAMESPACES, "kube-system"))
    found = set()
    for name, member in members.items():
        if name in answering and not isinstance(member, str):
            system = await member.client.find(NAMESPACES, "kube-system")
            if system is not None and uid_of(system) == uid:
                found.add(name)
    return found


async def take_over(host: Client, migration: Migration, members: Mapping[str, Member | str]) -> int:
    """Write what was decided; returns how many objects could not be written as they were seen, to be read again."""
    for each in migration.clusters:
        if each.manifest is not None:
            try:
                await host.create(CLUSTERS, each.manifest)
            except AlreadyExists:
                continue
    answering = [member for member in members.values() if not isinstance(member, str)]
    unmarked = set().union(*await asyncio.gather(*(_mark_copies(member, migration) for member in answering)))
    return len(unmarked) + await _hand_over(host, [each for each in migration.objects if each.ref not in unmarked])


async def _mark_copies(member: Member, migration: Migration) -> set[Ref]:
    """Mark what one member has; returns the sources of what changed or failed meanwhile."""
    unmarked = set()
    for each in migration.objects:
        for copy in each.copies:
            if copy.cluster != member.name or copy.patch is None:
                continue
            key = copy.target.key
            try:
                await member.client.patch(copy.target.resource, key.name, copy.patch, key.namespace)
            except (ApiError, Unreachable):
                unmarked.add(each.ref)
    return unmarked


async def _hand_over(host: Client, objects: Sequence[ObjectPlan]) -> int:
    changed = 0
    for each in objects:
        if each.finalizers is None:
            continue
        patch = {"metadata": {"resourceVersion": version_of(each.source), "finalizers": list(each.finalizers)}}
        try:
            await host.patch(each.ref.resource, each.ref.key.name, patch, each.ref.key.namespace)
        except (Conflict, NotFound):
            changed += 1
    return changed
