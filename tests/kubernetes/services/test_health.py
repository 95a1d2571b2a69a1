"""Health by quorum on a real host: real servers are probed, and an agent's account has the rights that it needs."""

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from hanse.api.federation import FEDERATIONS, HealthSettings, federation_manifest
from hanse.api.health_reports import HEALTH_REPORTS, HOST_CHECKER
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.cli.agent_process import probe_for_federation
from hanse.cli.control_plane import prepare_host
from hanse.clusters.agent_access import agent_token, join_by_agent
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.errors import Forbidden
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import Key
from hanse.services.addresses import addresses_manifest
from hanse.services.health.assigner import Assigner
from hanse.services.health.checker import Checker
from hanse.services.health.checks import Check
from hanse.services.health.prober import NetworkProber
from hanse.services.health.standing import Finding, State
from hanse.services.health.view import HealthView
from hanse.services.presence import FederatedService, Port, Presence
from tests.kubernetes.real import wait_until

PATIENCE_SECONDS = 120.0
WEB = Key("default", "web")
HERE, NOBODY = "127.0.0.1", "127.99.0.1"
PATIENT = HealthSettings(timeout_seconds=60)


async def until(view, condition):
    changed = asyncio.Event()
    view.subscribe(changed.set)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            changed.clear()
            await changed.wait()


@asynccontextmanager
async def listener():
    async def hang_up(_reader, writer):
        writer.close()

    server = await asyncio.start_server(hang_up, HERE, 0)
    try:
        yield server
    finally:
        server.close()


async def test_a_real_etcd_tells_its_health_over_grpc(host):
    check = Check("grpc", host._layout.etcd_port, PATIENT)
    prober = NetworkProber()

    assert await prober.probe(check, HERE) == Finding(alive=True)
    assert (await prober.probe(replace(check, service="no.such.Service"), HERE)).why.startswith("it does not tell")


async def test_a_real_api_server_is_well_over_https_for_whom_it_is_named(host):
    endpoint = Kubeconfig.load(host.kubeconfig).endpoint("")
    port = int(endpoint.server.rpartition(":")[2])
    check = Check("https", port, PATIENT, path="/readyz", ca=(endpoint.ca or b"").decode(), contains="ok")
    prober = NetworkProber()

    assert await prober.probe(check, HERE) == Finding(alive=True)
    assert not (await prober.probe(replace(check, ca=""), HERE)).alive
    assert (await prober.probe(replace(check, status=((401, 401),)), HERE)).why.endswith("with status 200")


async def test_an_agent_and_the_host_agree_on_what_lives(host):
    endpoint = Kubeconfig.load(host.kubeconfig).endpoint("")
    runtime = SystemRuntime()
    admin = Client(HttpTransport(endpoint), runtime)
    await prepare_host(admin)
    await admin.create(FEDERATIONS, federation_manifest("fed", "example.com"))
    await join_by_agent(admin, "edge", {})
    token = await agent_token(admin, "edge", 3600)
    account = Client(HttpTransport(replace(endpoint, client_certificate=None, client_key=None, token=token)), runtime)
    async with listener() as server:
        port = server.sockets[0].getsockname()[1]
        presences = (Presence("edge", (HERE,)), Presence("west", (NOBODY,)))
        await admin.create(
            SERVICE_ADDRESSES, addresses_manifest(FederatedService(WEB, (Port("", "TCP", port),), presences))
        )
        view = HealthView(admin)
        parts = (
            view.run(),
            Assigner(admin, view).run(),
            Checker(admin, HOST_CHECKER, NetworkProber()).run(),
            probe_for_federation(account, "edge", NetworkProber()),
        )
        tasks = [asyncio.create_task(part) for part in parts]
        try:
            await until(view, lambda: view.verdict(WEB, "edge", HERE).alive == 2)
            await until(view, lambda: view.verdict(WEB, "west", NOBODY).dead == 2)
            assert view.verdict(WEB, "west", NOBODY).state is State.DEAD
            server.close()
            await until(view, lambda: view.verdict(WEB, "edge", HERE).state is State.DEAD)
            shown = await asyncio.to_thread(host.kubectl, "get", "healthreports", "--namespace", SYSTEM_NAMESPACE)
            with pytest.raises(Forbidden):
                await account.list(HEALTH_REPORTS, SYSTEM_NAMESPACE)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await account.close()
            await admin.close()
    assert "host.web.default" in shown


def test_a_checker_of_any_other_place_is_there_while_it_runs(host):
    asyncio.run(_prepared(host))
    lease = ("get", "lease", "checker-cluster-office", "--namespace", SYSTEM_NAMESPACE, "--ignore-not-found")
    holder = (*lease, "--output=jsonpath={.spec.holderIdentity}")
    command = ("checker", f"--kubeconfig={host.kubeconfig}", "--cluster=office")
    with subprocess.Popen([sys.executable, "-m", "hanse", *command], stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(
                lambda: bool(host.kubectl(*holder)), seconds=PATIENCE_SECONDS, what="the checker holds its Lease"
            )
            process.terminate()
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()

    assert process.returncode == 0, said
    assert host.kubectl(*holder) == ""


async def _prepared(host):
    admin = Client(HttpTransport(Kubeconfig.load(host.kubeconfig).endpoint("")), SystemRuntime())
    try:
        await prepare_host(admin)
    finally:
        await admin.close()
