"""Whether whoever shows a certificate may ask a kubelet: the cluster's own API server says, as kubelets ask it to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource

_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
# As long as kubelets believe an answer.
_ALLOWED_SECONDS, _DENIED_SECONDS = 300.0, 30.0
_MOST_ANSWERS = 1024
_VERBS = {"GET": "get", "POST": "create"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a verified client certificate names."""

    user: str
    groups: tuple[str, ...] = ()


def caller_of(certificate: dict[str, Any] | None) -> Caller | None:
    """Return whom a certificate names, as the ssl module tells it; None where none was shown or it names nobody."""
    pairs = [pair for part in (certificate or {}).get("subject", ()) for pair in part]
    user = next((value for name, value in pairs if name == "commonName"), "")
    return Caller(user, tuple(value for name, value in pairs if name == "organizationName")) if user else None


class Authorizer:
    """Asks one cluster whether callers may use `nodes/proxy` of a node, and remembers what it said."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._runtime = client.runtime
        self._answers: dict[tuple[Caller, str, str], tuple[bool, float]] = {}

    async def check(self, caller: Caller, method: str, node: str) -> None:
        """Let a caller pass; raises Forbidden, or what kept the question from being answered."""
        verb = _VERBS.get(method, method.lower())
        asked = (caller, verb, node)
        allowed, until = self._answers.get(asked, (False, 0.0))
        if self._runtime.monotonic() >= until:
            allowed = await self._ask(caller, verb, node)
            self._remember(asked, allowed)
        if not allowed:
            told = f"user {caller.user!r} cannot {verb} resource 'nodes' with subresource 'proxy' of node {node!r}"
            raise Forbidden(403, "Forbidden", f"{told}; bind the ClusterRole system:kubelet-api-admin to them")

    async def _ask(self, caller: Caller, verb: str, node: str) -> bool:
        attributes = {"verb": verb, "version": "v1", "resource": "nodes", "subresource": "proxy", "name": node}
        review: Obj = {
            "apiVersion": _REVIEWS.api_version,
            "kind": _REVIEWS.kind,
            "metadata": {},
            "spec": {"user": caller.user, "groups": list(caller.groups), "resourceAttributes": attributes},
        }
        answer = await self._client.create(_REVIEWS, review)
        return bool(dig(answer, "status", "allowed", default=False))

    def _remember(self, asked: tuple[Caller, str, str], allowed: bool) -> None:
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
        seconds = _ALLOWED_SECONDS if allowed else _DENIED_SECONDS
        self._answers[asked] = (allowed, self._runtime.monotonic() + seconds)
