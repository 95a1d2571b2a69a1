"""Admiralty's YAML on the embedded API server: what it takes, and what it refuses and why."""

import asyncio

import pytest
import pytest_asyncio

from hanse.api.admiralty.definitions import FORWARD_ONLY
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.errors import Invalid
from hanse.kube.runtime import SystemRuntime
from tests.behaviour.admiralty_kinds import REFUSED, accepted, serve_admiralty
from tests.behaviour.kubefed_forms import refusal, taken

pytestmark = pytest.mark.asyncio(loop_scope="module")
ACCEPTED = accepted()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="source", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    await serve_admiralty(client)
    yield client
    await client.close()
    await server.close()


@pytest.mark.parametrize("manifest", ACCEPTED.values(), ids=list(ACCEPTED))
async def test_what_was_written_for_admiralty_is_kept_word_for_word(cluster, manifest):
    written = await taken(cluster, manifest)

    assert {field: written[field] for field in manifest if field != "metadata"} == {
        field: value for field, value in manifest.items() if field != "metadata"
    }


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
async def test_a_refusal_names_the_field_and_the_reason(cluster, case):
    said = await refusal(cluster, case.manifest)

    assert case.field in said
    assert case.says in said


async def test_the_short_names_of_admiralty_mean_its_kinds(cluster):
    found = await asyncio.gather(
        *(cluster.discovery.named(word) for word in ("src", "csrc", "tg", "ctg", "mcsum", "chap"))
    )

    assert [one.kind for one in found] == [
        "Source",
        "ClusterSource",
        "Target",
        "ClusterTarget",
        "ClusterSummary",
        "PodChaperon",
    ]


@pytest.mark.parametrize("later", [{"attempt": 2}, None], ids=["lower", "none"])
async def test_the_attempt_of_a_chaperon_never_goes_back(cluster, later):
    manifest = {**ACCEPTED["PodChaperon fenced"], "metadata": {"generateName": "back-", "namespace": "default"}}
    made = await cluster.create(POD_CHAPERONS, {**manifest, "fence": {"attempt": 3}})

    with pytest.raises(Invalid, match=FORWARD_ONLY):
        await cluster.patch(POD_CHAPERONS, made["metadata"]["name"], {"fence": later}, "default")
    forward = await cluster.patch(POD_CHAPERONS, made["metadata"]["name"], {"fence": {"attempt": 4}}, "default")

    assert forward["fence"]["attempt"] == 4
