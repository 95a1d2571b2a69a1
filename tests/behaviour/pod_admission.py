"""The admission of elected pods on any API server: what is stored, and what nobody gets past it.

The same script is played on the embedded API server and on a real one, with the admission server listening beside it.
Numbers are lines of the fact sheet on Admiralty.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from hanse.api.admiralty.keys import (
    ANSWERS,
    CHAPERON_FINALIZER,
    ELECT,
    EXPIRES_AFTER,
    FOLLOW,
    GANG,
    GATE,
    HAS_FINALIZER,
    JOB_MANAGER,
    LOST_AFTER,
    MANIFEST,
    NO_PREFIX,
    PARENT_UID,
    POD_FINALIZER,
    PROXY_CONSTRAINTS,
    PROXY_SCHEDULER,
    SPEC_CONSTRAINTS,
    UNRECORDED_FINALIZER,
)
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS
from hanse.api.names import AUTHOR_ANNOTATION
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, labels_of
from hanse.kube.resources import NAMESPACES, PODS, SERVICE_ACCOUNTS, Resource
from hanse.kube.runtime import SystemRuntime
from hanse.pods.admission.certificates import new_authority, new_certificate
from hanse.pods.admission.manifests import admission_manifests
from hanse.pods.admission.policies import (
    HANSE_ALONE,
    HANSE_FINALIZERS,
    HANSE_GATE,
    HANSE_RELEASE,
    HANSE_STATUS,
    ONLY_ELECTED,
    ONLY_ENABLED,
    SAME_AUTHOR,
    SAME_MANIFEST,
    SAME_PARENT,
    SAME_WISHES,
)
from hanse.pods.admission.server import AdmissionServer
from hanse.pods.placeholder.reading import submitted
from tests.behaviour.admiralty_kinds import serve_admiralty

PATIENCE_SECONDS = 60.0
JOBS = Resource("batch", "v1", "jobs", "Job")
ENABLED, PLAIN = "shop", "elsewhere"
HANSE = ("system:serviceaccount:hanse-system:hanse-home", ("system:serviceaccounts:hanse-system",))
OPERATOR = "o'hara@example.com"
_FORGED = {ELECT: "", MANIFEST: "{}"}
_TRY = WriteOptions(dry_run=True)


class Stage(Protocol):
    """An API server that knows anybody by whatever name they give."""

    @property
    def admin(self) -> Client:
        """A client of an administrator."""

    def by(self, user: str, groups: Sequence[str] = ()) -> Client:
        """Return a client of a user, closed with the stage."""


def pod(name: str, namespace: str = ENABLED, *, labels: Obj | None = None, **annotations: str) -> Obj:
    """Return a pod that does nothing."""
    said = {key.replace("__", "/"): text for key, text in annotations.items()}
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}, "annotations": said}
    spec = {"containers": [{"name": "c", "image": "busybox"}], "terminationGracePeriodSeconds": 30}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def annotated(name: str, annotations: Obj, namespace: str = ENABLED) -> Obj:
    """Return a pod with annotations."""
    made = pod(name, namespace)
    return {**made, "metadata": {**made["metadata"], "annotations": annotations}}


def elected(name: str, namespace: str = ENABLED) -> Obj:
    """Return a pod that asks to run elsewhere."""
    return annotated(name, {ELECT: ""}, namespace)


def job(name: str, namespace: str = ENABLED) -> Obj:
    """Return a Job that asks to run whole elsewhere."""
    template = {"spec": {"containers": [{"name": "c", "image": "busybox"}], "restartPolicy": "Never"}}
    metadata = {"name": name, "namespace": namespace}
    spec = {"managedBy": JOB_MANAGER, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _chaperon() -> Obj:
    metadata = {
        "name": "sent",
        "namespace": ENABLED,
        "labels": {PARENT_UID: "u-1"},
        "finalizers": [CHAPERON_FINALIZER],
    }
    api = {"apiVersion": POD_CHAPERONS.api_version, "kind": POD_CHAPERONS.kind}
    return {**api, "metadata": metadata, "spec": {"containers": []}, "fence": {"attempt": 1}}


@asynccontextmanager
async def admitting(stage: Stage, source: str = "home") -> AsyncIterator[asyncio.Task[None]]:
    """Serve admission beside a cluster for the length of a block; the task is the server, and may be ended earlier."""
    runtime = SystemRuntime()
    authority = new_authority(runtime)
    certificate = new_certificate(authority, ["127.0.0.1"], runtime)
    server = AdmissionServer(stage.admin, source, certificate, "127.0.0.1", 0)
    running = asyncio.create_task(server.run())
    try:
        await _prepare(stage.admin)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await server.wait_serving()
        url = f"https://127.0.0.1:{server.port}"
        for manifest in admission_manifests(url, certificate.authority_pem, own=(OPERATOR,)):
            for hook in manifest.get("webhooks", ()):
                # Whoever runs this may be slow.
                hook["timeoutSeconds"] = 30
            await stage.admin.apply(await stage.admin.resource_of(manifest), manifest)
        await _in_force(stage)
        anna = stage.by("anna")
        await anna.create(PODS, elected("victim"))
        await anna.create(PODS, pod("bystander"))
        await anna.create(JOBS, job("whole"))
        await stage.admin.create(POD_CHAPERONS, _chaperon())
        delegate = pod("delegate", labels={PARENT_UID: "u-1"})
        held = {**delegate["metadata"], "finalizers": [UNRECORDED_FINALIZER]}
        await stage.by(*HANSE).create(PODS, {**delegate, "metadata": held})
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _prepare(admin: Client) -> None:
    await serve_admiralty(admin)
    for name, labels in ((ENABLED, {"multicluster-scheduler": "enabled"}), (PLAIN, {})):
        metadata = {"name": name, "labels": labels}
        await admin.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        await _until(partial(_has_account, admin, name))
    api = {"apiVersion": CLUSTER_TARGETS.api_version, "kind": CLUSTER_TARGETS.kind}
    await admin.create(CLUSTER_TARGETS, {**api, "metadata": {"name": "eu"}, "spec": {"self": True}})
    role = {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": "pods-of-all-kinds"}}
    rules = [{"apiGroups": ["", "batch", POD_CHAPERONS.group], "resources": ["*"], "verbs": ["*"]}]
    await admin.apply(CLUSTER_ROLES, {**role, "rules": rules})
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}
    account = {**group, "kind": "User", "name": HANSE[0]}
    reference = {**group, "kind": "ClusterRole", "name": "pods-of-all-kinds"}
    binding = {"apiVersion": CLUSTER_ROLE_BINDINGS.api_version, "kind": "ClusterRoleBinding"}
    about = {"metadata": {"name": "pods-of-all-kinds"}, "roleRef": reference, "subjects": [group, account]}
    await admin.apply(CLUSTER_ROLE_BINDINGS, {**binding, **about})


async def _has_account(admin: Client, namespace: str) -> bool:
    return await admin.find(SERVICE_ACCOUNTS, "default", namespace) is not None


async def _in_force(stage: Stage) -> None:
    """Wait until the server heeds all that it was told: it does so a moment after it was written."""
    anna = stage.by("anna")

    async def mutates() -> bool:
        made = await anna.create(PODS, elected("try"), options=_TRY)
        return bool(made["spec"].get("schedulerName") == PROXY_SCHEDULER)

    async def stamps() -> bool:
        return AUTHOR_ANNOTATION in annotations_of(await anna.create(JOBS, job("try"), options=_TRY))

    await _until(mutates)
    await _until(stamps)
    await stage.admin.create(PODS, pod("probe"))
    await stage.admin.create(PODS, elected("placeholder"))
    await stage.admin.create(JOBS, job("probe"))
    await stage.admin.create(POD_CHAPERONS, {**_chaperon(), "metadata": {"name": "probe", "namespace": ENABLED}})
    for name, probe in _PROBES.items():
        await _until(partial(_refused, probe, stage), name)


_PROBES: dict[str, Callable[[Stage], Awaitable[object]]] = {
    "placeholders": lambda stage: stage.by("anna").patch(
        PODS, "probe", {"metadata": {"labels": {HAS_FINALIZER: "true"}}}, ENABLED, options=_TRY
    ),
    "delegates": lambda stage: stage.by("anna").create(PODS, pod("f", labels={PARENT_UID: "u"}), options=_TRY),
    "job-authors": lambda stage: stage.by(*HANSE).patch(
        JOBS, "probe", _says({AUTHOR_ANNOTATION: "pods.hanse.dev:home:x"}), ENABLED, options=_TRY
    ),
    "new-placeholders": lambda stage: stage.by("anna").create(PODS, annotated("f", _FORGED, PLAIN), options=_TRY),
    "whole-jobs": lambda stage: stage.by("anna").create(JOBS, job("f", PLAIN), options=_TRY),
    "authors": lambda stage: stage.by(*HANSE).patch(
        PODS, "placeholder", _says({AUTHOR_ANNOTATION: "pods.hanse.dev:home:x"}), ENABLED, options=_TRY
    ),
    "chaperon-status": lambda stage: stage.by("anna").patch(
        POD_CHAPERONS, "probe", {"status": {"phase": "x"}}, ENABLED, subresource="status", options=_TRY
    ),
}


async def _refused(probe: Callable[[Stage], Awaitable[object]], stage: Stage) -> bool:
    try:
        await probe(stage)
    except ApiError as error:
        # A policy of a kind that is new to the server is refused for another reason at first.
        return "nobody but Hanse" in str(error) or any(
            text in str(error) for text in (ONLY_ELECTED, ONLY_ENABLED, SAME_AUTHOR)
        )
    return False


async def _until(holds: Callable[[], Awaitable[bool]], what: str = "") -> None:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if await holds():
                    return
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not in force after a minute: {what}") from None


def _says(annotations: Obj) -> Obj:
    return {"metadata": {"annotations": annotations}}


@dataclass(frozen=True, slots=True)
class Attack:
    """What somebody tries, as whom, and what they are told.

    Where two policies refuse it, an API server tells of either.
    """

    attempt: Callable[[Client], Awaitable[Any]]
    says: str
    user: str = "anna"
    groups: tuple[str, ...] = ()
    or_says: str = ""

    def is_told(self, refusal: str) -> bool:
        """Tell whether a refusal is one of those that are right."""
        return self.says in refusal or bool(self.or_says and self.or_says in refusal)


def _pod_patch(patch: Obj, *, subresource: str = "", name: str = "victim") -> Callable[[Client], Awaitable[Any]]:
    return lambda client: client.patch(PODS, name, patch, ENABLED, subresource=subresource)


def _chaperon_patch(patch: Obj, *, subresource: str = "") -> Callable[[Client], Awaitable[Any]]:
    return lambda client: client.patch(POD_CHAPERONS, "sent", patch, ENABLED, subresource=subresource)


def _bind(client: Client) -> Awaitable[Any]:
    metadata = {"name": "bystander", "namespace": ENABLED, "annotations": {ANSWERS: "{}"}}
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    return client.create(PODS, binding, subresource="binding")


def _create(manifest: Obj, resource: Resource = PODS) -> Callable[[Client], Awaitable[Any]]:
    return lambda client: client.create(resource, manifest)


def _large() -> Obj:
    container = {"name": "c", "image": "busybox", "env": [{"name": "BIG", "value": "x" * 1_000_000}]}
    return {**elected("f"), "spec": {"containers": [container]}}


_BY_WEBHOOK = "nobody but Hanse writes this; take it out"

ATTACKS: dict[str, Attack] = {
    "D15 a forged manifest": Attack(_create(annotated("f", _FORGED)), _BY_WEBHOOK),
    "forged answers": Attack(_create(annotated("f", {ELECT: "", ANSWERS: "{}"})), _BY_WEBHOOK),
    "a forged label": Attack(
        _create({**elected("f"), "metadata": {**elected("f")["metadata"], "labels": {HAS_FINALIZER: "true"}}}),
        f"metadata.labels[{HAS_FINALIZER}]",
    ),
    "a placeholder that was not elected": Attack(_create(annotated("f", {MANIFEST: "{}"})), ONLY_ELECTED),
    "a label on a pod that was not elected": Attack(_create(pod("f", labels={HAS_FINALIZER: "true"})), ONLY_ELECTED),
    "a gate on a pod that was not elected": Attack(
        _create({**pod("f"), "spec": {**pod("f")["spec"], "schedulingGates": [{"name": GATE}]}}), ONLY_ELECTED
    ),
    "a finalizer on a pod that was not elected": Attack(
        _create({**pod("f"), "metadata": {**pod("f")["metadata"], "finalizers": [POD_FINALIZER]}}), ONLY_ELECTED
    ),
    "a placeholder where nobody is asked": Attack(_create(annotated("f", _FORGED, PLAIN)), ONLY_ELECTED),
    "a placeholder among the cluster's own": Attack(_create(annotated("f", _FORGED, "kube-public")), ONLY_ELECTED),
    "08 constraints that cannot be read": Attack(
        _create(annotated("f", {ELECT: "", PROXY_CONSTRAINTS: "nodeSelector: ["})), PROXY_CONSTRAINTS
    ),
    "a pod of a megabyte": Attack(_create(_large()), "262144"),
    "answers on a placeholder": Attack(_pod_patch(_says({ANSWERS: '{"eu": {}}'})), HANSE_ALONE),
    "answers by way of the status": Attack(_pod_patch(_says({ANSWERS: "{}"}), subresource="status"), HANSE_ALONE),
    "a larger gang": Attack(_pod_patch(_says({GANG: "9"})), SAME_WISHES),
    "a target that may be lost for ever": Attack(_pod_patch(_says({LOST_AFTER: "never"})), SAME_WISHES),
    "a pod that never expires": Attack(_pod_patch(_says({EXPIRES_AFTER: "9" * 9})), SAME_WISHES),
    "a namespace that follows": Attack(_pod_patch(_says({FOLLOW: "namespaces"})), SAME_WISHES),
    "other constraints": Attack(_pod_patch(_says({PROXY_CONSTRAINTS: "a: &a [*a]"})), SAME_WISHES),
    "constraints by way of the status": Attack(
        _pod_patch(_says({SPEC_CONSTRAINTS: ""}), subresource="status"), SAME_WISHES
    ),
    "labels that keep their keys": Attack(_pod_patch(_says({NO_PREFIX: ".*"})), SAME_WISHES),
    "a pod elected no more": Attack(_pod_patch(_says({ELECT: None})), SAME_WISHES),
    "another manifest": Attack(_pod_patch(_says({MANIFEST: "{}"})), SAME_MANIFEST, or_says=HANSE_ALONE),
    "no manifest": Attack(_pod_patch(_says({MANIFEST: None})), SAME_MANIFEST, or_says=HANSE_ALONE),
    "no label": Attack(_pod_patch({"metadata": {"labels": {HAS_FINALIZER: None}}}), HANSE_ALONE),
    "an open gate": Attack(_pod_patch({"spec": {"schedulingGates": []}}), HANSE_GATE),
    "no finalizers": Attack(_pod_patch({"metadata": {"finalizers": None}}), HANSE_FINALIZERS),
    "another author": Attack(_pod_patch(_says({AUTHOR_ANNOTATION: "pods.hanse.dev:home:root"})), SAME_AUTHOR),
    "an author of the host": Attack(_pod_patch(_says({AUTHOR_ANNOTATION: "root"})), SAME_AUTHOR),
    "no author": Attack(_pod_patch(_says({AUTHOR_ANNOTATION: None})), SAME_AUTHOR),
    "a pod made a placeholder": Attack(
        _pod_patch({"metadata": {"labels": {HAS_FINALIZER: "true"}}}, name="bystander"), HANSE_ALONE
    ),
    "annotations by way of a binding": Attack(_bind, HANSE_ALONE),
    "Hanse with another author": Attack(
        _pod_patch(_says({AUTHOR_ANNOTATION: "pods.hanse.dev:home:root"})), SAME_AUTHOR, *HANSE
    ),
    "Hanse with another manifest": Attack(_pod_patch(_says({MANIFEST: "{}"})), SAME_MANIFEST, *HANSE),
    "a whole Job where nobody is asked": Attack(_create(job("f", PLAIN), JOBS), ONLY_ENABLED),
    "another author of a Job": Attack(
        lambda client: client.patch(JOBS, "whole", _says({AUTHOR_ANNOTATION: "root"}), ENABLED), SAME_AUTHOR
    ),
    "answers on a Job": Attack(
        lambda client: client.patch(JOBS, "whole", _says({ANSWERS: "{}"}), ENABLED), HANSE_ALONE
    ),
    "other constraints of a Job": Attack(
        lambda client: client.patch(JOBS, "whole", _says({PROXY_CONSTRAINTS: "{}"}), ENABLED), SAME_WISHES
    ),
    # Two policies are against it, and which one a server names is its own affair.
    "a pod that seems another's": Attack(_create(pod("f", labels={PARENT_UID: "u-1"})), "Hanse"),
    "a chaperon's pod hidden from it": Attack(
        _pod_patch({"metadata": {"labels": {PARENT_UID: None}}}, name="delegate"), HANSE_ALONE
    ),
    "a chaperon's pod set free": Attack(
        _pod_patch({"metadata": {"finalizers": None}}, name="delegate", subresource="status"), HANSE_FINALIZERS
    ),
    "what became of a chaperon's pod": Attack(
        _chaperon_patch({"status": {"fence": {"phase": "Ended"}}}, subresource="status"), HANSE_STATUS
    ),
    "a chaperon set free": Attack(_chaperon_patch({"metadata": {"finalizers": None}}), HANSE_RELEASE),
    "a chaperon of another parent": Attack(_chaperon_patch({"metadata": {"labels": {PARENT_UID: "u-2"}}}), SAME_PARENT),
}


async def refusal(stage: Stage, attack: Attack) -> str:
    """Return what somebody is told who tries what must not succeed."""
    try:
        await attack.attempt(stage.by(attack.user, attack.groups))
    except ApiError as error:
        return str(error)
    return "it was let in"


async def check_placeholder(stage: Stage) -> None:
    """What is stored is the placeholder, which keeps the pod (3, 10, 11), stamped with its author."""
    stored = await stage.admin.get(PODS, "victim", ENABLED)
    assert stored["spec"]["schedulerName"] == PROXY_SCHEDULER
    assert stored["spec"]["schedulingGates"] == [{"name": GATE}]
    assert stored["spec"]["terminationGracePeriodSeconds"] == 0
    assert finalizers_of(stored) == ["multicluster.admiralty.io/eu", POD_FINALIZER]
    assert labels_of(stored)[HAS_FINALIZER] == "true"
    assert annotations_of(stored)[AUTHOR_ANNOTATION] == "pods.hanse.dev:home:anna"
    kept = submitted(stored)
    assert kept is not None
    assert kept["spec"]["containers"][0]["image"] == "busybox"
    assert kept["spec"]["terminationGracePeriodSeconds"] == 30


async def check_others(stage: Stage) -> None:
    """Pods that are not elected (1) or not in an enabled namespace (2) are stored as they are."""
    anna = stage.by("anna")
    bystander = await anna.get(PODS, "bystander", ENABLED)
    foreign = await anna.create(PODS, elected("foreign", PLAIN))
    for stored in (bystander, foreign):
        assert stored["spec"]["schedulerName"] == "default-scheduler"
        assert not finalizers_of(stored)
        assert not stored["spec"].get("schedulingGates")
    assert annotations_of(foreign) == {ELECT: ""}


async def check_allowed(stage: Stage) -> None:
    """What is not Hanse's alone anybody changes; and Hanse, by account or by name, changes what is."""
    anna = stage.by("anna")
    await anna.patch(PODS, "victim", {"metadata": {"labels": {"note": "mine"}, "annotations": {"a": "b"}}}, ENABLED)
    await anna.patch(JOBS, "whole", {"metadata": {"labels": {"note": "mine"}}}, ENABLED)
    await anna.create(PODS, elected("done"))
    for number, who in enumerate((HANSE, (OPERATOR, ()))):
        await stage.by(*who).patch(PODS, "done", _says({ANSWERS: f'{{"eu": {number}}}'}), ENABLED)
    hanse = stage.by(*HANSE)
    opened = await hanse.patch(PODS, "done", {"spec": {"schedulingGates": []}}, ENABLED)
    assert not opened["spec"].get("schedulingGates")
    told = await hanse.patch(POD_CHAPERONS, "sent", {"status": {"phase": "Running"}}, ENABLED, subresource="status")
    assert told["status"] == {"phase": "Running"}
    await anna.delete(PODS, "done", ENABLED)
    await hanse.patch(PODS, "done", {"metadata": {"finalizers": None}}, ENABLED)
    assert await _gone(stage.admin, "done")


async def _gone(client: Client, name: str) -> bool:
    try:
        await client.get(PODS, name, ENABLED)
    except NotFound:
        return True
    return False


async def check_server_down(stage: Stage) -> None:
    """Without an answer elected pods are refused (12), and nothing else is."""
    anna = stage.by("anna")
    told = await refusal(stage, Attack(_create(elected("late")), ""))
    assert 'failed calling webhook "elected.pods.hanse.dev"' in told
    told = await refusal(stage, Attack(_create(job("late"), JOBS), ""))
    assert 'failed calling webhook "jobs.pods.hanse.dev"' in told
    await anna.create(PODS, pod("late-bystander"))
    await anna.create(PODS, elected("late-foreign", PLAIN))
    await anna.patch(PODS, "victim", {"metadata": {"labels": {"note": "still-mine"}}}, ENABLED)


async def check_reinvocation(stage: Stage, another: Obj) -> None:
    """Asked again since another webhook has put a label on the pod, admission keeps one manifest, with it (9)."""
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        # Webhooks are asked in the order of these names.
        "metadata": {"name": "z-after-pods.hanse.dev"},
        "webhooks": [another],
    }
    resource = await stage.admin.resource_of(configuration)
    await stage.admin.create(resource, configuration)
    anna = stage.by("anna")

    async def labelled() -> bool:
        return LATE in labels_of(await anna.create(PODS, elected("try"), options=_TRY))

    await _until(labelled, "the other webhook")
    stored = await anna.create(PODS, elected("seen-twice"))
    await stage.admin.delete(resource, "z-after-pods.hanse.dev")
    kept = submitted(stored)
    assert kept is not None
    assert labels_of(kept) == {LATE: "yes"}
    assert [gate["name"] for gate in stored["spec"]["schedulingGates"]] == [GATE]
    assert "schedulingGates" not in kept["spec"]
    assert kept["spec"]["terminationGracePeriodSeconds"] == 30
    assert finalizers_of(stored) == ["multicluster.admiralty.io/eu", POD_FINALIZER]


LATE = "late.example.com"


def labelling(client: Obj) -> Obj:
    """Return a webhook that is asked about pods in the enabled namespace."""
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    return {
        "name": "late.example.com",
        "clientConfig": client,
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ENABLED}},
        "matchConditions": [{"name": "try", "expression": "object.metadata.name in ['try', 'seen-twice']"}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
