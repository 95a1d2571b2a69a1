"""Each line of Metacontroller's list on a real API server, with hooks behind real HTTP."""

import pytest

from hanse.kube import Kubeconfig
from hanse.kube.http import HttpTransport
from tests.behaviour.composite_lines import all_lines, lines

pytestmark = pytest.mark.timeout(240)


async def test_each_line_holds_on_a_real_api_server(host):
    endpoint = Kubeconfig.load(host.kubeconfig).endpoint()
    people, controllers = HttpTransport(endpoint), HttpTransport(endpoint)
    try:
        async with lines(people, controllers) as on:
            failed = await all_lines(on)
    finally:
        await people.close()
        await controllers.close()

    assert failed == {}
