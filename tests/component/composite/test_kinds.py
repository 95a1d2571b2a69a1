"""Metacontroller's YAML on the embedded API server: what it takes, and what it refuses and why."""

import asyncio

import pytest
import pytest_asyncio

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.composite.reading import read_controller
from hanse.composite.spec import SpecProblems
from hanse.kube.client import Client
from hanse.kube.runtime import SystemRuntime
from tests.behaviour.kubefed_forms import refusal, taken
from tests.behaviour.metacontroller_kinds import ACCEPTED, REFUSED, UNREADABLE, serve_metacontroller

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="federation", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    await serve_metacontroller(client)
    yield client
    await client.close()
    await server.close()


@pytest.mark.parametrize("manifest", ACCEPTED.values(), ids=list(ACCEPTED))
async def test_what_was_written_for_metacontroller_is_kept_word_for_word(cluster, manifest):
    written = await taken(cluster, manifest)

    assert {field: written[field] for field in manifest if field != "metadata"} == {
        field: value for field, value in manifest.items() if field != "metadata"
    }


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
async def test_a_refusal_names_the_field_and_the_reason(cluster, case):
    said = await refusal(cluster, case.manifest)

    assert case.field in said
    assert case.says in said


@pytest.mark.parametrize("case", UNREADABLE.values(), ids=list(UNREADABLE))
async def test_what_metacontrollers_server_takes_is_taken_and_refused_where_it_is_read(cluster, case):
    manifest = {**case.manifest, "metadata": {"generateName": "taken-"}}
    written = await taken(cluster, manifest)

    assert isinstance(read_controller(written), SpecProblems)


async def test_the_short_names_of_metacontroller_mean_its_kinds(cluster):
    found = await asyncio.gather(
        *(cluster.discovery.named(word) for word in ("cc", "cctl", "dec", "decorators", "mapc"))
    )

    assert [one.kind for one in found] == [
        "CompositeController",
        "CompositeController",
        "DecoratorController",
        "DecoratorController",
        "MapController",
    ]
