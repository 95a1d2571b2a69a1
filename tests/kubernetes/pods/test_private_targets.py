"""Private targets on real API servers with RBAC on: the rights that a Source gives, credentials, status, leftovers."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
from collections.abc import Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
import yaml

from hanse.api.admiralty.keys import PARENT_CLUSTER, PARENT_NAME, PARENT_NAMESPACE, PARENT_UID
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.names import MANAGED_LABEL, SYSTEM_NAMESPACE
from hanse.clusters.kubeconfigs import kubeconfig_document
from hanse.clusters.registry import Registry
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from hanse.kube.resources import CRDS, SERVICE_ACCOUNTS
from hanse.pods.chaperons.makers import Makers
from hanse.pods.senders.keeper import SenderKeeper
from hanse.pods.sweeping import Sweeper, SweepTerms
from hanse.pods.targets.board import Board
from hanse.pods.targets.roster import TargetRoster
from tests.behaviour.admiralty_kinds import serve_admiralty
from tests.component.pods.targets.stage import chaperon
from tests.kubernetes.follower import closing
from tests.kubernetes.real import HOST, RealCluster, real_clusters

PATIENCE_SECONDS = 90.0
SENDER = """
apiVersion: multicluster.admiralty.io/v1alpha1
kind: Source
metadata: {name: home, namespace: default}
spec: {serviceAccountName: sender}
"""


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, RealCluster]]:
    """A source, which is also the host, and a cluster that only credentials lead to."""
    with real_clusters({"home": HOST, "there": HOST}) as started:
        yield started


class Stage:
    def __init__(self, clusters, home, there, roster):
        self.home, self.there, self.roster = home, there, roster
        self._clusters = clusters

    async def kubectl(self, cluster, *arguments, said=None):
        return await asyncio.to_thread(self._clusters[cluster].kubectl, *arguments, input=said)

    async def until(self, holds):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = holds()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return
                await self.home.runtime.sleep(0.1)

    async def write_credentials(self, name, **user):
        endpoint = Kubeconfig.load(self._clusters["there"].kubeconfig).endpoint()
        if user:
            endpoint = replace(endpoint, client_certificate=None, client_key=None, **user)
        text = yaml.safe_dump(kubeconfig_document({"there": endpoint}, "there"))
        data = {"config": base64.b64encode(text.encode()).decode()}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "default"},
            "data": data,
        }
        await self.kubectl("home", "apply", "-f", "-", said=json.dumps(secret))

    async def make(self, kind, name, secret):
        metadata = {"name": name, **({"namespace": "default"} if kind == "Target" else {})}
        reference = {"name": secret, **({"namespace": "default"} if kind == "ClusterTarget" else {})}
        obj = {"apiVersion": POD_CHAPERONS.api_version, "kind": kind, "metadata": metadata}
        await self.kubectl(
            "home", "apply", "-f", "-", said=json.dumps({**obj, "spec": {"kubeconfigSecret": reference}})
        )

    def is_ready(self, name):
        return any(each.name == name and not each.refusal for each in self.roster.clusters())


@asynccontextmanager
async def stage(clusters):
    runtime = SystemRuntime()
    ways = {name: HttpTransport(Kubeconfig.load(each.kubeconfig).endpoint()) for name, each in clusters.items()}
    async with closing(Client(ways["home"], runtime)) as home, closing(Client(ways["there"], runtime)) as there:
        for client in (home, there):
            await serve_admiralty(client)
        await home.apply(CRDS, CLUSTER_CRD)
        for name in clusters:
            await asyncio.to_thread(clusters[name].kubectl, "create", "namespace", SYSTEM_NAMESPACE)
        board, registry = Board(Makers()), Registry(home, HttpTransport)
        registry.attach(board.serve)
        roster = TargetRoster("home", home, registry, board, HttpTransport)
        sweeper = Sweeper("home", home, roster, terms=SweepTerms(period_seconds=1.0, settled_seconds=1.0))
        parts = (registry.run, roster.run, sweeper.run, SenderKeeper(there).run)
        running = [asyncio.create_task(part()) for part in parts]
        try:
            await asyncio.wait_for(roster.wait_synced(), PATIENCE_SECONDS)
            yield Stage(clusters, home, there, roster)
        finally:
            for task in running:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def test_the_rights_that_a_source_gives_make_a_target_of_its_namespace_and_of_no_more(clusters):
    async with stage(clusters) as here:
        await here.kubectl("there", "apply", "-f", "-", said=SENDER)
        await here.until(lambda: here.there.find(SERVICE_ACCOUNTS, "sender", "default"))
        token = (await here.kubectl("there", "create", "token", "sender")).strip()
        await here.write_credentials("tenant", token=token)
        await here.make("Target", "c2", "tenant")
        await here.until(lambda: here.is_ready("default/c2"))
        shown = await here.kubectl("home", "get", "targets")
        assert "True" in shown.splitlines()[1]

        # The right goes, and the sentence names it; it comes back under way with other credentials.
        await here.write_credentials("tenant", token="nobody's")
        await here.until(lambda: "not accepted" in here.roster.troubles().get("default/c2", ""))
        assert [each.name for each in here.roster.clusters()] == ["default/c2"]
        await here.write_credentials("tenant", token=token)
        await here.until(lambda: here.is_ready("default/c2"))

        # The same credentials do not make a target of the whole cluster, nor may a second one see the same objects.
        await here.make("ClusterTarget", "whole", "tenant")
        await here.until(lambda: "same place as default/c2" in here.roster.troubles().get("whole", ""))
        await here.kubectl("home", "delete", "clustertarget", "whole")

        # With the administrator's, what is left over is found and deleted, and what is another's is not.
        await here.kubectl("home", "delete", "target", "c2", "--namespace=default")
        for name, source in {"mine": "home", "theirs": "elsewhere"}.items():
            labels = {PARENT_UID: "gone", PARENT_CLUSTER: source, MANAGED_LABEL: "true"}
            annotations = {PARENT_NAMESPACE: "default", PARENT_NAME: "gone"}
            await here.there.create(POD_CHAPERONS, chaperon(name, labels=labels, annotations=annotations))
        await here.write_credentials("administrator")
        await here.make("ClusterTarget", "all", "administrator")
        await here.until(lambda: here.is_ready("all"))

        async def swept():
            left = [obj["metadata"]["name"] for obj in (await here.there.list(POD_CHAPERONS)).items]
            return left == ["theirs"]

        await here.until(swept)
        assert await here.kubectl("there", "get", "lease", "pods.hanse.dev-home", f"--namespace={SYSTEM_NAMESPACE}")
