"""Waiting for a cluster's ingress controller: it ends, and says what was waited for."""

import pytest

from hanse.api.plain_kinds import INGRESSES
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.runtime import SeededRuntime
from hanse.services.ingress.balancer import Refused
from hanse.services.ingress.copies import (
    INSTANCE_GROUPS_ANNOTATION,
    PATIENCE_SECONDS,
    instance_groups,
    wait_addresses,
    wait_instance_groups,
)
from tests.component.services.ingress.clusters import ADMINISTRATOR, ingress


@pytest.mark.looptime
async def test_a_controller_that_never_answers_is_not_waited_for_without_end():
    runtime, told = SeededRuntime(), []
    server = await ApiServer.open(name="east", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(ADMINISTRATOR), runtime)
    try:
        with pytest.raises(Refused, match=r'ingresses\.networking\.k8s\.io "zoneprinter" not found'):
            await wait_addresses(ingress(), client, "east", tell=told.append)
        await client.create(INGRESSES, ingress())
        begun = runtime.monotonic()
        with pytest.raises(Refused, match="the ingress controller of cluster east has not answered within 600 s"):
            await wait_instance_groups(ingress(), client, "east", tell=told.append)
        waited = runtime.monotonic() - begun
    finally:
        await server.close()

    assert waited == pytest.approx(PATIENCE_SECONDS, abs=1)
    assert told == [
        "Determining instance groups for cluster east",
        f"Waiting for ingress ( default : zoneprinter ) to get {INSTANCE_GROUPS_ANNOTATION} annotation.....",
    ]


@pytest.mark.parametrize("text", ["{", "[1]", '[{"Name": "ig"}]', "7"])
def test_instance_groups_that_make_no_sense_are_told(text):
    noted = {"metadata": {"annotations": {INSTANCE_GROUPS_ANNOTATION: text}}}

    with pytest.raises(Refused, match="error in parsing annotation key"):
        instance_groups(noted)


def test_instance_groups_are_told_as_links():
    noted = {"metadata": {"annotations": {INSTANCE_GROUPS_ANNOTATION: '[{"Name": "ig", "Zone": "https://z"}]'}}}

    assert instance_groups(noted) == ["https://z/instanceGroups/ig"]
    assert instance_groups({"metadata": {}}) == []
