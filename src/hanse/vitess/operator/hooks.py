"""The operator's functions as hooks of lambda controllers: they are shown what is, and what they say is carried out.

A hook reads topology, has the pure function decide, tells what is to be told, marks what is to be marked, and answers
with children and status as any other hook does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hanse.api.planetscale.kinds import CASCADE_ANNOTATION, CLUSTER_LABEL
from hanse.composite.hooks.calling import HookFailed
from hanse.composite.hosting.telling import SYNCED
from hanse.kube.client import Client
from hanse.kube.conditions import merge_conditions
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, dig, labels_of, name_of, namespace_of, uid_of
from hanse.kube.runtime import timestamp
from hanse.vitess.operator.verdicts import Happening, Mark, Observed, Verdict

Decide = Callable[[Obj, Observed], Awaitable[Verdict]]
Related = Callable[[Obj], list[Obj]]


class Told:
    """What was said of each parent last, so that nothing is said twice in a row."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events
        self._said: dict[tuple[str, str], frozenset[Happening]] = {}

    async def tell(self, parent: Obj, happenings: tuple[Happening, ...], about: str = "") -> None:
        """Tell what is new; what is no longer the case may be told again later.

        Those who tell of different things of one parent say about what, and do not disturb each other.
        """
        key = (uid_of(parent), about)
        before = self._said.get(key, frozenset())
        if happenings:
            self._said[key] = frozenset(happenings)
        else:
            self._said.pop(key, None)
        for each in dict.fromkeys(happenings):
            if each not in before:
                await self._events.record(parent, each.reason, each.message, warning=each.warning)


class SyncHook:
    """One kind's function, called as any sync hook is."""

    def __init__(self, client: Client, told: Told, decide: Decide) -> None:
        self._client = client
        self._told = told
        self._decide = decide

    async def call(self, body: Obj, root: Obj) -> Obj:
        """Return the children that shall exist and the parent's status."""
        runtime = self._client.runtime
        observed = Observed(body["children"], body["related"], runtime.now())
        verdict = await self._decide(root, observed)
        await self._told.tell(root, verdict.events)
        for mark in verdict.marks:
            await self._mark(root, mark)
        answer: Obj = {"children": list(verdict.children), "status": self._status(root, verdict)}
        return answer if verdict.again is None else {**answer, "resyncAfterSeconds": verdict.again}

    def _status(self, parent: Obj, verdict: Verdict) -> Obj:
        """Return the status; conditions that others set stay, and a transition time moves with its status."""
        before = [each for each in dig(parent, "status", "conditions", default=[]) if each.get("type") != SYNCED]
        now = timestamp(self._client.runtime.now())
        return {**verdict.status, "conditions": merge_conditions(before, verdict.status.get("conditions") or [], now)}

    async def _mark(self, parent: Obj, mark: Mark) -> None:
        """Set or remove annotations that others set and remove too, beside what is applied."""
        patch = {"metadata": {"annotations": dict(mark.annotations)}}
        try:
            await self._client.patch(mark.resource, mark.name, patch, namespace_of(parent))
        except NotFound:
            return
        except ApiError as error:
            if mark.annotations.get(CASCADE_ANNOTATION, "") is None:
                failed = Happening("UncascadeFailed", f"its cascade is over and stays marked: {error}", warning=True)
                await self._told.tell(parent, (failed,), about="cascade")
            raise HookFailed(f"{mark.resource.kind} {mark.name}: its annotations cannot be set: {error}") from error

    async def close(self) -> None:
        """Have nothing to close."""


class CustomizeHook:
    """Which other objects a kind's function is shown."""

    def __init__(self, related: Related) -> None:
        self._related = related

    async def call(self, body: Obj, root: Obj) -> Obj:
        """Return the rules."""
        return {"relatedResources": self._related(root)}

    async def close(self) -> None:
        """Have nothing to close."""


def of_cluster(parent: Obj, resource: str, **labels: str) -> Obj:
    """Return the rule for all objects of a kind that belong to a parent's VitessCluster."""
    group, _, plural = resource.rpartition("/")
    return {
        "apiVersion": group,
        "resource": plural,
        "labelSelector": {"matchLabels": {CLUSTER_LABEL: cluster_of(parent), **labels}},
    }


def cluster_of(parent: Obj) -> str:
    """Return the VitessCluster that an object belongs to."""
    return labels_of(parent).get(CLUSTER_LABEL) or name_of(parent)
