"""The scheduling-policy hook of federation v1: an external policy engine is asked when an object is written.

As long as the namespace `kube-federation-scheduling-policy` holds a ConfigMap, every created or updated object is sent
to the engine. It answers with errors, and the write is forbidden, or with annotations, which replace the object's own
of the same names: so that a policy chooses the clusters. An engine that cannot be asked forbids too. What is kept away
from it: Hanse's and Kubernetes' own namespaces, so that a broken engine can still be mended.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import orjson

from hanse.api.names import AGENT_NAMESPACE_PREFIX, SYSTEM_NAMESPACE
from hanse.kube.client import Client
from hanse.kube.documents import BadDocument, read_values
from hanse.kube.errors import ApiError
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, annotations_of
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Request, Response, Transport, Unreachable

POLICY_NAMESPACE = "kube-federation-scheduling-policy"
_TRIES = 5
_FACTOR = 1.5
_ANSWER_SECONDS = 5.0
# What controllers write all the time; the hook's own events would be asked about for ever.
_MACHINERY = frozenset({"Event", "Lease", "Endpoints", "EndpointSlice"})
_AGAIN = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Where the engine is, and how long to wait before asking again."""

    kubeconfig: str
    backoff_seconds: float = 0.1


@dataclass(frozen=True, slots=True)
class Admitted:
    """The engine lets the object in, with these annotations."""

    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The object is refused, and why."""

    why: str


class BadReview(ValueError):
    """A body that is no AdmissionReview."""


def read_review(body: bytes) -> Obj:
    """Return the AdmissionReview of a request's body; raises BadReview."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview("the body must be JSON") from error
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise BadReview("request: it must be there, with a uid")
    obj = request.get("object")
    if obj is not None and not (isinstance(obj, dict) and _has_metadata(obj)):
        raise BadReview("request.object: it must be an object with metadata, whose labels and annotations are texts")
    return {"request": request}


def _has_metadata(obj: Obj) -> bool:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not all(isinstance(obj.get(name, ""), str) for name in ("kind", "apiVersion")):
        return False
    annotations = metadata.get("annotations") or {}
    names = (metadata.get(name, "") for name in ("name", "namespace", "uid", "resourceVersion"))
    return isinstance(annotations, dict) and all(isinstance(name, str) for name in names)


def read_settings(text: str) -> HookSettings:
    """Read the hook's configuration file; raises ValueError with a sentence."""
    try:
        documents = read_values(text, "the configuration")
    except BadDocument as error:
        raise ValueError(str(error)) from error
    document = documents[0] if documents else None
    if not isinstance(document, dict) or not isinstance(document.get("kubeconfig"), str):
        raise ValueError("kubeconfig must name the file that says where the policy engine is")  # noqa: TRY004
    backoff = document.get("retryBackoff", 100)
    if isinstance(backoff, bool) or not isinstance(backoff, int) or backoff < 0:
        raise ValueError(f"retryBackoff must be a number of milliseconds that is not negative, not {backoff!r}")
    return HookSettings(document["kubeconfig"], backoff / 1000)


def judged(answer: Response) -> Admitted | Forbidden:
    """Read the engine's answer; what it does not define is forbidden."""
    if answer.status == 404:
        return Forbidden("the policy engine does not define a decision for it")
    if not 200 <= answer.status < 300:
        return Forbidden(f"the policy engine answers {answer.status}")
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return Forbidden("the policy engine's answer is not JSON")
    if not isinstance(document, dict):
        return Forbidden("the policy engine's answer is no JSON object")
    errors, annotations = document.get("errors") or [], document.get("annotations") or {}
    if not isinstance(errors, list) or not isinstance(annotations, dict):
        return Forbidden("the policy engine's answer needs a list of errors and an object of annotations")
    if errors:
        return Forbidden("; ".join(str(error) for error in errors))
    if not all(isinstance(value, str) for value in annotations.values()):
        return Forbidden("the policy engine's annotations must be texts")
    return Admitted(annotations)


class PolicyHook:
    """Asks the engine about objects that are being written."""

    def __init__(self, host: Client, engine: Transport, runtime: Runtime, backoff_seconds: float = 0.1) -> None:
        self._host = host
        self._engine = engine
        self._runtime = runtime
        self._backoff = backoff_seconds
        self._events = EventRecorder(host, "hanse-policy-hook")

    async def review(self, review: Obj) -> Obj:
        """Answer an AdmissionReview (admission.k8s.io/v1)."""
        request: Any = review.get("request") or {}
        obj = request.get("object")
        verdict = await self._verdict(request, obj) if isinstance(obj, dict) else Admitted({})
        response: Obj = {"uid": request.get("uid", ""), "allowed": isinstance(verdict, Admitted)}
        if isinstance(verdict, Forbidden):
            response["status"] = {"code": 403, "reason": "Forbidden", "message": verdict.why}
        elif verdict.annotations and isinstance(obj, dict):
            patch = orjson.dumps([_annotating(obj, verdict.annotations)])
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

    async def _verdict(self, request: Obj, obj: Obj) -> Admitted | Forbidden:
        namespace = str(request.get("namespace") or "")
        if _is_own(namespace) or request.get("operation") not in ("CREATE", "UPDATE"):
            return Admitted({})
        if obj.get("kind") in _MACHINERY:
            return Admitted({})
        try:
            policies = (await self._host.list(CONFIGMAPS, POLICY_NAMESPACE)).items
        except (ApiError, Unreachable) as error:
            return Forbidden(f"whether there are scheduling policies cannot be told: {error}")
        if not policies:
            return Admitted({})
        verdict = await self._ask(obj)
        if isinstance(verdict, Forbidden) and not request.get("dryRun"):
            await self._tell(obj, verdict)
        return verdict

    async def _ask(self, obj: Obj) -> Admitted | Forbidden:
        body, wait, verdict = orjson.dumps(obj), self._backoff, Forbidden("the policy engine was not asked")
        for attempt in range(_TRIES):
            if attempt:
                await self._runtime.sleep(wait)
                wait *= _FACTOR
            try:
                request = Request("POST", "", headers={"content-type": "application/json"}, body=body)
                answer = await self._engine.send(request, _ANSWER_SECONDS)
            except Unreachable as error:
                verdict = Forbidden(f"the policy engine cannot be asked: {error}")
                continue
            if answer.status not in _AGAIN:
                return judged(answer)
            verdict = Forbidden(f"the policy engine answers {answer.status}")
        return verdict

    async def _tell(self, obj: Obj, verdict: Forbidden) -> None:
        try:
            await self._events.record(obj, "SchedulingPolicy", verdict.why, warning=True)
        except (ApiError, Unreachable):
            # The answer says the same to whoever wrote the object.
            return


def webhook_manifest(url: str, ca_bundle: str) -> Obj:
    """Return the configuration that makes a host ask the hook; `ca_bundle` is base64."""
    kept_away = [SYSTEM_NAMESPACE, "kube-system", "kube-public", "kube-node-lease", POLICY_NAMESPACE]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "hanse-scheduling-policy"},
        "webhooks": [
            {
                "name": "scheduling-policy.hanse.dev",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "NoneOnDryRun",
                "failurePolicy": "Fail",
                "timeoutSeconds": 30,
                "clientConfig": {"url": url, "caBundle": ca_bundle},
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": kept_away}
                    ]
                },
                "rules": [
                    {
                        "operations": ["CREATE", "UPDATE"],
                        "apiGroups": ["", "apps", "batch", "autoscaling", "networking.k8s.io"],
                        "apiVersions": ["*"],
                        "resources": ["*"],
                        "scope": "Namespaced",
                    }
                ],
            }
        ],
    }


def _is_own(namespace: str) -> bool:
    return namespace == SYSTEM_NAMESPACE or namespace.startswith(("kube-", AGENT_NAMESPACE_PREFIX))


def _annotating(obj: Obj, annotations: dict[str, str]) -> Obj:
    # One operation on the whole map works whether or not the object has annotations already.
    return {"op": "add", "path": "/metadata/annotations", "value": {**annotations_of(obj), **annotations}}
