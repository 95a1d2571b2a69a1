"""The kinds of the first Vitess operator on an API server: what would lead nowhere is refused when it is written."""

import pytest

from hanse.api.vitess.definitions import VITESS_CRDS
from hanse.api.vitess.kinds import VITESS_CLUSTERS
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.apiserver.identity import Identity
from hanse.kube.client import Client
from hanse.kube.errors import Invalid
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SeededRuntime
from tests.unit.vitess.first.requests import vitess

pytestmark = pytest.mark.looptime


REFUSALS = [
    (lambda spec: spec["keyspaces"][0]["cells"].append("zone9"), "must name cells of spec.cells"),
    (lambda spec: spec["keyspaces"][0]["shards"].append({}), "either a keyRange or a name"),
    (lambda spec: spec["keyspaces"][0]["shards"].append({"keyRange": {"start": "8"}}), "keyRange.start"),
    (lambda spec: spec["keyspaces"][1]["tablets"]["masterEligible"].pop("image"), "tablets need an image"),
    (lambda spec: spec["keyspaces"][0]["tablets"]["batch"].update(replicas=101), "less than or equal to 100"),
    (lambda spec: spec["cells"].append({"name": "global"}), "Duplicate value"),
    (lambda spec: spec["cells"].append({"name": "Zone_2"}), "spec.cells[2].name"),
    (lambda spec: spec.pop("selector"), "spec.selector: Required value"),
]
NAMES = [("1st", "a letter first"), ("a.b", "a letter first"), ("v" * 31, "35 characters together at most")]


async def test_a_cluster_that_would_lead_nowhere_is_refused_with_the_field_and_the_reason():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="home", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    for crd in VITESS_CRDS:
        await client.create(CRDS, crd)
    told = []
    for change, _ in REFUSALS:
        wrong = vitess()
        wrong["metadata"]["namespace"] = "default"
        change(wrong["spec"])
        with pytest.raises(Invalid) as refused:
            await client.create(VITESS_CLUSTERS, wrong)
        told.append(str(refused.value))
    for name, _ in NAMES:
        with pytest.raises(Invalid) as refused:
            await client.create(VITESS_CLUSTERS, {**vitess(), "metadata": {"name": name, "namespace": "default"}})
        told.append(str(refused.value))
    right = vitess()
    right["metadata"]["namespace"] = "default"
    made = await client.create(VITESS_CLUSTERS, right)
    await server.close()

    assert [
        sentence for (_, sentence), said in zip([*REFUSALS, *NAMES], told, strict=True) if sentence not in said
    ] == []
    assert made["spec"] == right["spec"]
