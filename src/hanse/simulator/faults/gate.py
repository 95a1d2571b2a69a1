"""What faults do on the wire: the gate before an API server, for every client alike.

A request is delayed, falls into silence, is refused, is answered from the past, or is done and its answer lost. Who
sent it decides whether a fault concerns it: the control plane, the cluster's own nodes and controllers, or users.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterable
from dataclasses import replace

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, AnyAnswer, WatchAnswer
from hanse.apiserver.gate import Onward
from hanse.apiserver.hub import Sink, Watcher
from hanse.apiserver.identity import Identity
from hanse.kube.errors import ApiError
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Request
from hanse.simulator.faults.stale import answer_from_the_past, may_be_stale
from hanse.simulator.faults.streams import WireSink
from hanse.simulator.faults.values import Fault, Party

# Who the cluster's own controllers and kubelets are, and who the federation is, to the API server.
NODES_USER = "hanse-simulator"
CONTROL_PLANE_USER = "hanse-controller"
_SILENCING = ("partition", "hang")
_LOST = "Timeout: request did not complete within requested timeout - context deadline exceeded"


def party_of(request: Request, identity: Identity) -> Party:
    """Tell who sent a request: by the identity that only they have in process, by the user agent on a socket."""
    if identity.user == NODES_USER:
        return Party.NODES
    if identity.user == CONTROL_PLANE_USER or request.headers.get("user-agent", "").startswith(CONTROL_PLANE_USER):
        return Party.CONTROL_PLANE
    return Party.USERS


class FaultGate:
    """The gate before one cluster's API server.

    `distance` is how many seconds everyone outside of the cluster is away from it, `work` how long it takes over any
    request: on virtual time nothing else does, and two controllers that undo each other would never let it pass.
    """

    def __init__(
        self, runtime: Runtime, revision: Callable[[], int], *, distance: float = 0.0, work: float = 0.0
    ) -> None:
        self._runtime = runtime
        self._revision = revision
        self._distance = distance
        self._work = work
        self._faults: tuple[Fault, ...] = ()
        self._frozen_at = 0
        self._change = asyncio.Event()
        self._ways = {party: _Way(self, party) for party in Party}
        # Streams end in many ways and tell nobody here; the number keeps the order in which they were opened.
        self._streams: weakref.WeakValueDictionary[tuple[int, Party], WireSink] = weakref.WeakValueDictionary()
        self._opened = 0

    def set(self, faults: Iterable[Fault]) -> None:
        """Say which faults there are from now on."""
        before, self._faults = self._faults, tuple(faults)
        if self.fault("stale-reads") and not any(fault.kind == "stale-reads" for fault in before):
            self._frozen_at = self._revision()
        self._change.set()
        self._change = asyncio.Event()

    def fault(self, kind: str, party: Party | None = None) -> Fault | None:
        """Return the fault of a kind that concerns a party, or anybody."""
        for fault in self._faults:
            if fault.kind == kind and (party is None or fault.concerns(party)):
                return fault
        return None

    def delay(self, party: Party) -> float:
        """Return how long a party's requests and events are on their way."""
        fault = self.fault("latency", party)
        return (0.0 if party is Party.NODES else self._distance) + (fault.seconds if fault else 0.0)

    def silent(self, party: Party) -> bool:
        """Tell whether nothing at all passes between the server and a party."""
        found = (self.fault(kind, party) for kind in _SILENCING)
        return any(fault is not None and fault.rate >= 1 for fault in found)

    async def changed(self) -> None:
        """Wait until faults come or go."""
        await self._change.wait()

    def cut(self, fault: Fault) -> None:
        """Break every watch stream that a fault concerns."""
        for key in sorted(self._streams.keys()):
            sink = self._streams.get(key)
            if sink is not None and fault.concerns(key[1]):
                sink.end(broken=True)

    async def __call__(self, request: Request, identity: Identity, onward: Onward) -> AnyAnswer:
        """Do to a request what the faults do to it."""
        party = party_of(request, identity)
        if delay := self._work + self.delay(party):
            await self._runtime.sleep(delay)
        if self._faults:
            await self._pass(party)
            if refusal := self._refusal(party):
                return refusal
        answer = await self._answer(request, party, onward)
        return self._on_the_wire(answer, party) if isinstance(answer, WatchAnswer) else answer

    async def _answer(self, request: Request, party: Party, onward: Onward) -> AnyAnswer:
        if self.fault("stale-reads", party) and may_be_stale(request):
            return await answer_from_the_past(request, self._frozen_at, onward)
        failing = self._struck("errors", party)
        if failing is None:
            return await onward(request)
        # A failure before the work and one after it look alike from outside, and differ in everything.
        if self._runtime.uniform(0.0, 1.0) < 0.5:
            return _refused(status.internal("etcdserver: leader changed"))
        answer = await onward(request)
        return _refused(status.failure(504, "Timeout", _LOST)) if isinstance(answer, Answer) else answer

    async def _pass(self, party: Party) -> None:
        hanging = self._struck("hang", party)
        while self.silent(party) or (hanging is not None and hanging in self._faults):
            await self.changed()

    def _refusal(self, party: Party) -> Answer | None:
        if self.fault("expired-credentials", party):
            return _refused(status.unauthorized())
        throttle = self._struck("throttle", party)
        if throttle is None:
            return None
        patience = {"retry-after": str(max(1, round(throttle.seconds)))}
        text = b"Too many requests, please try again later.\n"
        return Answer(429, text, "text/plain; charset=utf-8", patience)

    def _struck(self, kind: str, party: Party) -> Fault | None:
        fault = self.fault(kind, party)
        return fault if fault is not None and self._runtime.uniform(0.0, 1.0) < fault.rate else None

    def _on_the_wire(self, answer: WatchAnswer, party: Party) -> WatchAnswer:
        def begin(sink: Sink) -> Watcher:
            wired = WireSink(sink, self._ways[party], self._runtime)
            self._opened += 1
            self._streams[self._opened, party] = wired
            return answer.begin(wired)

        return replace(answer, begin=begin)


class _Way:
    """The way between the server and one party, as a stream sees it."""

    def __init__(self, gate: FaultGate, party: Party) -> None:
        self._gate = gate
        self._party = party

    @property
    def delay(self) -> float:
        return self._gate.delay(self._party)

    @property
    def silent(self) -> bool:
        return self._gate.silent(self._party)

    async def changed(self) -> None:
        await self._gate.changed()


def _refused(error: ApiError) -> Answer:
    return Answer(error.code, status.status_body(error))
