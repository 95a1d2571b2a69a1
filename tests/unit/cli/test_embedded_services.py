"""What an embedded federation makes up for its services: names of load balancers, and checkers in clusters."""

import pytest

from hanse.cli.embedded.checking import FromCluster
from hanse.cli.embedded.resolving import simulated_resolver
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request, Response, Unreachable
from hanse.simulator.networking.providers import host_name


@pytest.mark.parametrize(
    ("hostname", "address"),
    [(host_name("127.9.0.1", "eu-west"), "127.9.0.1"), ("192.0.2.7", "192.0.2.7")],
    ids=["a simulated load balancer", "anything else"],
)
async def test_names_are_resolved(hostname, address):
    assert await simulated_resolver(SeededRuntime())(hostname) == (address,)


class Host:
    """A host that answers everything."""

    address = "https://host"

    async def send(self, _request, _timeout):
        return Response(200)


async def test_a_checker_cannot_reach_the_host_while_its_cluster_is_down():
    down = False
    way = FromCluster(Host(), lambda: down)
    assert (await way.send(Request("GET", "/"), 1.0)).status == 200

    down = True
    with pytest.raises(Unreachable, match="the cluster of this checker is down"):
        await way.send(Request("GET", "/"), 1.0)
    with pytest.raises(Unreachable):
        await way.stream(Request("GET", "/"), 1.0)
