"""A federation some of whose members fetch their work: each has an agent, with its own account and no more rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hanse.api.kubefed.forms import Form
from hanse.api.works import WORKS, agent_namespace
from hanse.apiserver import Identity
from hanse.cli.agent_process import serve
from hanse.clusters.agent_access import AGENT_ACCOUNT, join_by_agent
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request, Stream
from tests.simulation.world import Wire, World


def agent_identity(cluster: str) -> Identity:
    namespace = agent_namespace(cluster)
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return Identity(f"system:serviceaccount:{namespace}:{AGENT_ACCOUNT}", groups)


@dataclass(slots=True)
class _Held:
    """A stream that stands still for as long as its wire is cut."""

    inner: Stream
    wire: Wire

    @property
    def status(self) -> int:
        return self.inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self.inner.chunks():
            while self.wire.hanging:
                await self.wire.runtime.sleep(0.5)
            yield chunk

    async def close(self) -> None:
        await self.inner.close()


class CutWire(Wire):
    """A wire that, when it hangs, carries no watch either."""

    async def stream(self, request: Request, timeout: float) -> Stream:
        return _Held(await super().stream(request, timeout), self)


class AgentWorld(World):
    """A world in which some members fetch their work."""

    def __init__(self, runtime: SeededRuntime, pulling: tuple[str, ...], *, forms: tuple[Form, ...] = ()) -> None:
        super().__init__(runtime, forms=forms)
        self.pulling = pulling
        self.agents: dict[str, asyncio.Task[None]] = {}

    async def enrol(self, name: str, labels: dict[str, str]) -> None:
        if name not in self.pulling:
            await super().enrol(name, labels)
            return
        await join_by_agent(self.host, name, labels)
        self.start_agent(name)

    def start_agent(self, name: str) -> None:
        self.to_host(name).hanging = False
        self.agents[name] = asyncio.create_task(self._act(name))

    async def _act(self, name: str) -> None:
        host = Client(self.to_host(name), self.runtime)
        while True:
            await serve(
                host, name, Endpoint(f"https://{name}"), connect=lambda _: self._wire(name), identity=f"agent-{name}"
            )

    def to_host(self, name: str) -> Wire:
        """The agent's way to the host."""
        known = self.wires.get(f"{name} to host")
        if known is None:
            remote = self.servers["host"].connect(agent_identity(name), as_remote=True)
            known = self.wires[f"{name} to host"] = CutWire(remote, self.runtime)
        return known

    async def kill_agent(self, name: str) -> None:
        """End it as a crash would: it says nothing more, and its Lease stays as it is."""
        self.to_host(name).hanging = True
        self.agents[name].cancel()
        await asyncio.gather(self.agents[name], return_exceptions=True)

    async def close(self) -> None:
        for task in self.agents.values():
            task.cancel()
        await asyncio.gather(*self.agents.values(), return_exceptions=True)
        await super().close()

    async def works(self, name: str) -> list[Obj]:
        return (await self.host.list(WORKS, agent_namespace(name))).items

    def noteworthy_writes(self) -> dict[str, list[tuple[str, str]]]:
        """Every write but the renewals of Leases."""
        found = {name: [each for each in some if "/leases" not in each[1]] for name, some in self.writes().items()}
        return {name: some for name, some in found.items() if some}


@asynccontextmanager
async def federation_with_agents(
    *members: str, pulling: tuple[str, ...] = ("b",), seed: int = 0, forms: tuple[Form, ...] = ()
) -> AsyncIterator[AgentWorld]:
    """Run a federation for the length of a block, with federated types in these forms."""
    world = AgentWorld(SeededRuntime(seed), pulling, forms=forms)
    try:
        await world.start(members or ("a", "b"))
        yield world
    finally:
        await world.close()
