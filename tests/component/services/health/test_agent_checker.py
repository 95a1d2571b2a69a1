"""The checker of a cluster that fetches its work: its account's rights are enough, and reach no further."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.federation import FEDERATION_CRD
from hanse.api.health_reports import HEALTH_REPORT_CRD, HEALTH_REPORTS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.service_addresses import SERVICE_ADDRESSES, SERVICE_ADDRESSES_CRD
from hanse.api.works import AGENT_CRD, WORK_CRD, agent_namespace
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.agent_process import probe_for_federation
from hanse.clusters.account import ROLES
from hanse.clusters.agent_access import AGENT_ACCOUNT, join_by_agent
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import Key
from hanse.kube.resources import CRDS, NAMESPACES
from hanse.kube.runtime import SeededRuntime
from hanse.services.addresses import addresses_manifest
from hanse.services.health.assigner import Assigner
from hanse.services.health.standing import Finding, State
from hanse.services.health.view import HealthView
from hanse.services.presence import FederatedService, Port, Presence
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.agents import agent_identity
from tests.simulation.playing import quietly

WEB = Key("shop", "web")
ADMINISTRATOR = Identity("admin", ("system:masters",))
KINDS = (CLUSTER_CRD, WORK_CRD, AGENT_CRD, FEDERATION_CRD, SERVICE_ADDRESSES_CRD, HEALTH_REPORT_CRD)


class Probes:
    async def probe(self, _check, address):
        return Finding(alive=address == "192.0.2.1", why="no answer")


@asynccontextmanager
async def federation_with_an_agent():
    """A host with one cluster that fetches its work, and the leader's side of health; gives both clients."""
    runtime = SeededRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(ADMINISTRATOR), runtime)
    for name in (SYSTEM_NAMESPACE, "shop"):
        await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for crd in KINDS:
        await host.create(CRDS, crd)
    await join_by_agent(host, "edge", {})
    service = FederatedService(WEB, (Port("", "TCP", 80),), (Presence("edge", ("192.0.2.1", "192.0.2.2")),))
    await host.create(SERVICE_ADDRESSES, addresses_manifest(service))
    account = Client(server.connect(agent_identity("edge"), as_remote=True), runtime)
    view = HealthView(host)
    tasks = [
        asyncio.create_task(part)
        for part in (view.run(), Assigner(host, view).run(), probe_for_federation(account, "edge", Probes()))
    ]
    try:
        yield host, account, view
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.close()


def played(script):
    with quietly():
        run_virtually(script)


def test_an_agent_probes_with_no_right_outside_of_its_namespace():
    async def script():
        async with federation_with_an_agent() as (host, account, view):
            await host.runtime.sleep(20)
            found = [view.verdict(WEB, "edge", address).state for address in ("192.0.2.1", "192.0.2.2")]
            report = (await host.list(HEALTH_REPORTS)).items[0]

            assert found == [State.ALIVE, State.DEAD]
            assert report["metadata"]["namespace"] == agent_namespace("edge")
            with pytest.raises(Forbidden):
                await account.list(SERVICE_ADDRESSES)
            with pytest.raises(Forbidden):
                await account.update(HEALTH_REPORTS, report)

    played(script)


def test_an_account_from_before_there_were_checkers_waits_for_the_right_to_tell():
    async def script():
        async with federation_with_an_agent() as (host, _account, view):
            role = await host.get(ROLES, AGENT_ACCOUNT, agent_namespace("edge"))
            before = [rule for rule in role["rules"] if "leases" not in rule["resources"]]
            await host.update(ROLES, {**role, "rules": before})
            await host.runtime.sleep(20)
            without = view.verdict(WEB, "edge", "192.0.2.1").votes
            await join_by_agent(host, "edge", {})
            await host.runtime.sleep(65)

            assert (without, view.verdict(WEB, "edge", "192.0.2.1").votes) == (0, 1)

    played(script)
