"""The names that simulated load balancers have, which no other resolver knows."""

from __future__ import annotations

from hanse.kube.runtime import Runtime
from hanse.services.hostnames import Resolve, system_resolver
from hanse.simulator.networking.providers import read_address


def simulated_resolver(runtime: Runtime) -> Resolve:
    """Resolve simulated names to what they stand for, and all others as this machine does."""
    elsewhere = system_resolver(runtime)

    async def resolve(hostname: str) -> tuple[str, ...]:
        address = read_address({"hostname": hostname})
        return (address,) if address else await elsewhere(hostname)

    return resolve
