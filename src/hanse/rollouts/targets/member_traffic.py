"""One member's part in moving clients between releases: labels on its pods, and nothing else of them.

A slow or dead member holds up its own queue and nobody else's. What was moved is told by the pods themselves: nothing
is remembered here but why a move failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from hanse.api.shipper.kinds import TRAFFIC_ENABLED, TRAFFIC_LABEL
from hanse.clusters.member import Member
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError, Forbidden, NotFound
from hanse.kube.manifest import Key
from hanse.kube.resources import PODS
from hanse.kube.transport import Unreachable
from hanse.rollouts.targets.member_pods import MemberPods
from hanse.rollouts.targets.traffic import NO_SHIFT, Move, Shift, shift

_WORKERS = 4
# So many labels of one application move at a time.
_WIDTH = 8
# A new pod gets its label soon; those that come together are looked at together.
_GATHER_SECONDS = 0.02
# By this a ReplicaSet chooses which of its pods it does without.
_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
_MISSED = "1"


class MemberTraffic:
    """Keeps the labels of one member's pods as the weights say."""

    def __init__(
        self,
        member: Member,
        weights: Callable[[Key, str], Mapping[str, int] | None],
        size: Callable[[Key, str], int],
        pod_changed: Callable[[Key, str], None],
        traffic_changed: Callable[[Key], None],
        whole: Callable[[Key], bool] = lambda _application: False,
    ) -> None:
        """`weights` are those of an application's releases in a cluster, None while nobody can say.

        `size` is how many pods a release is asked to have in a cluster; `whole` tells of an application whether all
        pods of a release with any weight receive traffic.
        """
        self.name = member.name
        self._client = member.client
        self._weights = weights
        self._size = size
        self._traffic_changed = traffic_changed
        self._whole = whole
        self._troubles: dict[Key, str] = {}
        self._controller: Controller[Key] = Controller(
            f"traffic of {member.name}", self._reconcile, member.client.runtime, workers=_WORKERS
        )
        self.pods = MemberPods(member.client, pod_changed, self._changed)

    def enqueue(self, application: Key) -> None:
        """Look at an application soon."""
        self._controller.queue.add_after(application, _GATHER_SECONDS)

    def trouble(self, application: Key) -> str:
        """Return why labels could not be moved, "" where they could."""
        return self._troubles.get(application, "")

    async def run(self, connected: Callable[[bool], None]) -> None:
        """Work until cancelled; `connected` hears when the member begins to show its pods and when it ceases to."""

        def heard(following: bool) -> None:
            for application in self.pods.applications() if following else ():
                self.enqueue(application)
            connected(following)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.pods.run(heard))
            tasks.create_task(self._controller.run())

    def _changed(self, application: Key) -> None:
        self.enqueue(application)
        self._traffic_changed(application)

    async def _reconcile(self, application: Key) -> None:
        try:
            # Those who shall receive traffic first; who can do without it is judged by what serves after that.
            await self._move(application.namespace, self._wanted(application).enable)
            await self._move(application.namespace, self._wanted(application).disable)
        except Forbidden as error:
            self._note(application, f"{error}; `hanse join {self.name}` gives Hanse's account there the right to do it")
            raise
        except (ApiError, Unreachable, TimeoutError) as error:
            self._note(application, str(error))
            raise
        self._note(application, "")

    def _wanted(self, application: Key) -> Shift:
        """Decide on what the member shows at this moment; where it cannot be relied on, nothing moves."""
        weights, endpoints = self._weights(application, self.name), self.pods.endpoints(application)
        if self.pods.blindness or weights is None or len(endpoints.services) != 1:
            return NO_SHIFT
        sizes = {release: self._size(Key(application.namespace, release), self.name) for release in weights}
        whole = self._whole(application)
        return shift(self.pods.traffic(application), weights, endpoints, sizes=sizes, whole=whole)

    async def _move(self, namespace: str, moves: Sequence[Move]) -> None:
        """Move labels, some at a time; one that cannot be moved keeps no other from it."""
        waiting, failures = list(reversed(moves)), []

        async def work() -> None:
            while waiting:
                try:
                    await self._label(namespace, waiting.pop())
                except (ApiError, Unreachable, TimeoutError) as error:
                    failures.append(error)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(_WIDTH, len(moves))):
                tasks.create_task(work())
        if failures:
            raise failures[0]

    async def _label(self, namespace: str, move: Move) -> None:
        # Who receives traffic is the last to go when the release is made smaller.
        cost = _MISSED if move.value == TRAFFIC_ENABLED else None
        patch = {"metadata": {"labels": {TRAFFIC_LABEL: move.value}, "annotations": {_COST_ANNOTATION: cost}}}
        try:
            written = await self._client.patch(PODS, move.pod, patch, namespace)
        except NotFound:
            # It has gone, and its traffic with it.
            return
        self.pods.remember(written)

    def _note(self, application: Key, trouble: str) -> None:
        if trouble == self._troubles.get(application, ""):
            return
        if trouble:
            self._troubles[application] = trouble
        else:
            del self._troubles[application]
        self._traffic_changed(application)
