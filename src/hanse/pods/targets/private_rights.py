"""Whether the credentials of a private target suffice to send pods there: asked of the target, before any is sent."""

from __future__ import annotations

import asyncio

from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

SELF_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
# That we may list them is what probes find out.
_VERBS = ("create", "patch", "delete")
# Rights come by a person's hand.
_AGAIN_SECONDS = 10.0


class Rights:
    """What one identity may do with the chaperons of a namespace, "" for those of all; asked until it suffices."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._lacking = ""
        self._due = 0.0
        self._suffice = False

    async def lacking(self, timeout: float) -> str:
        """Return which right is missing, in a sentence; "" where none is, or where that cannot be told."""
        now = self._client.runtime.monotonic()
        if self._suffice or now < self._due:
            return self._lacking
        self._due = now + _AGAIN_SECONDS
        try:
            async with asyncio.timeout(timeout):
                denied = [verb for verb in _VERBS if not await self._may(verb)]
        except (ApiError, Unreachable, TimeoutError):
            return self._lacking
        where = f"in namespace {self._namespace}" if self._namespace else "in every namespace"
        what = f"{' and '.join(denied)} {POD_CHAPERONS.group_resource} {where}"
        self._lacking = f"its credentials do not suffice: they may not {what}" if denied else ""
        self._suffice = not denied
        return self._lacking

    async def _may(self, verb: str) -> bool:
        answer = await self._client.create(SELF_REVIEWS, self._review(verb))
        return bool(dig(answer, "status", "allowed", default=False))

    def _review(self, verb: str) -> Obj:
        attributes = {"group": POD_CHAPERONS.group, "resource": POD_CHAPERONS.plural, "verb": verb}
        if self._namespace:
            attributes["namespace"] = self._namespace
        return {
            "apiVersion": SELF_REVIEWS.api_version,
            "kind": SELF_REVIEWS.kind,
            "metadata": {},
            "spec": {"resourceAttributes": attributes},
        }
