"""A Shipper taken over on real API servers: pods run on, and `hanse rollout` rolls the next release out."""

import asyncio
import json
import os
import subprocess

import pytest

from hanse.api.pieces import PIECES
from hanse.api.shipper.kinds import APPLICATIONS, CAPACITY_TARGETS, INSTALLATION_TARGETS, RELEASES, TRAFFIC_TARGETS
from hanse.kube.conditions import is_true
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import annotations_of, dig, labels_of, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, PODS, SERVICES
from tests.component.cli.shipper_world import APP, NAMES, REPLICAS, SHOP, install
from tests.e2e.federation import HANSE, run
from tests.kubernetes.real import HOST, MEMBER, real_clusters
from tests.kubernetes.real.components import CHECKOUT
from tests.kubernetes.rollouts.federation import client_of
from tests.simulation.rollouts.applications import packed

PATIENCE_SECONDS = 60.0
KINDS = (INSTALLATION_TARGETS, CAPACITY_TARGETS, TRAFFIC_TARGETS, PIECES, RELEASES, APPLICATIONS)


class Stage:
    """The management cluster, its one cluster, and what is typed."""

    def __init__(self, clusters, folder):
        self.clusters = clusters
        self.folder = folder
        self.host, self.member = (client_of(clusters[name].kubeconfig) for name in ("management", "eu"))
        self._controller = None

    def type(self, *words):
        known = ["--host-kubeconfig", str(self.clusters["management"].kubeconfig)]
        return run([*HANSE, *words, *known], home=self.folder)

    def start_controller(self):
        command = [*HANSE, "controller", "--kubeconfig", str(self.clusters["management"].kubeconfig)]
        with (self.folder / "controller.log").open("ab") as log:
            self._controller = subprocess.Popen(command, stderr=log, cwd=CHECKOUT, env=dict(os.environ))

    def stop_controller(self):
        if self._controller is not None:
            self._controller.terminate()
            self._controller.wait(timeout=20)

    async def lose_applications(self):
        """Have the host forget all applications while nobody acts on it."""
        for kind in KINDS:
            for obj in (await self.host.list(kind, SHOP)).items:
                await self.host.patch(kind, name_of(obj), {"metadata": {"finalizers": None}}, SHOP)
            await self.host.delete_collection(kind, SHOP)

    async def has_none(self):
        return not any([(await self.host.list(kind, SHOP)).items for kind in KINDS])

    async def close(self):
        self.stop_controller()
        await self.host.close()
        await self.member.close()

    async def running(self):
        """Everything in the cluster that a user would miss if it changed."""
        found: dict[tuple[str, str], object] = {}
        for pod in await self.pods():
            restarts = [status["restartCount"] for status in dig(pod, "status", "containerStatuses", default=[])]
            found["Pod", name_of(pod)] = (uid_of(pod), labels_of(pod), restarts)
        for kind in (DEPLOYMENTS, SERVICES):
            for obj in (await self.member.list(kind, SHOP)).items:
                found[kind.kind, name_of(obj)] = (uid_of(obj), obj["spec"])
        return found

    async def pods(self):
        return (await self.member.list(PODS, SHOP, labels=f"shipper-app={APP}")).items

    async def until(self, holds):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := await holds()):
                await self.host.runtime.sleep(0.2)
        return found

    async def pods_run(self):
        pods = await self.pods()
        return len(pods) == REPLICAS and all(is_true(dig(pod, "status", "conditions"), "Ready") for pod in pods)

    async def is_taken_over(self):
        copy = await self.member.get(DEPLOYMENTS, f"{NAMES[1]}-nginx", SHOP)
        return "hanse.dev/owner-uid" in annotations_of(copy)

    async def serves_only(self, release):
        pods = [labels_of(pod) for pod in await self.pods()]
        shown = {(pod["shipper-release"], pod.get("shipper-traffic-status")) for pod in pods}
        return shown == {(release, "enabled")}


@pytest.fixture
async def stage(tmp_path):
    with real_clusters({"management": HOST, "eu": MEMBER}) as clusters:
        opened = Stage(clusters, tmp_path)
        try:
            clusters["eu"].start_nodes()
            endpoint = Kubeconfig.load(clusters["eu"].kubeconfig).endpoint("")
            await install(opened.host, {"eu": opened.member}, {"eu": endpoint})
            await opened.until(opened.pods_run)
            for pod in await opened.pods():
                enabled = {"metadata": {"labels": {"shipper-traffic-status": "enabled"}}}
                await opened.member.patch(PODS, name_of(pod), enabled, SHOP)
            yield opened
        finally:
            await opened.close()


async def test_pods_run_on_through_a_take_over_and_the_next_release_replaces_them(stage):
    before = await stage.running()
    generations = await generations_of(stage)

    rehearsed = json.loads(await asyncio.to_thread(stage.type, "migrate", "shipper", "--dry-run", "-o", "json"))
    assert [each["state"] for each in rehearsed["releases"]] == ["to be taken over"] * 2
    assert not any("differs" in each for release in rehearsed["releases"] for each in release["objects"])
    await asyncio.to_thread(stage.type, "migrate", "shipper", "--yes")
    assert await stage.running() == before
    assert await generations_of(stage) == generations

    stage.start_controller()
    await stage.until(stage.is_taken_over)
    said = await asyncio.to_thread(stage.type, "rollout", "status", APP, "--complete", "--timeout", "60s")
    assert f"release {NAMES[1]} is complete" in said
    assert await stage.running() == before
    # The API server counts Hanse's marks, which are annotations, as a new generation of a Deployment.
    assert all(now - then <= 1 for now, then in zip(await generations_of(stage), generations, strict=True))

    parcel = packed("3", replicas=REPLICAS)
    parcel["metadata"]["namespace"] = SHOP
    await stage.host.create(CONFIGMAPS, parcel)
    template = {
        "source": {"manifests": {"location": "configmap://web-3"}},
        "chart": None,
        "values": {"replicaCount": None},
    }
    patch = json.dumps({"spec": {"template": template}})
    kind = "applications.shipper.booking.com"
    typed = ("--namespace", SHOP, "patch", kind, APP, "--type=merge", f"--patch={patch}")
    await asyncio.to_thread(stage.clusters["management"].kubectl, *typed)
    await asyncio.to_thread(stage.type, "rollout", "status", APP, "--timeout", "60s")
    await asyncio.to_thread(stage.type, "rollout", "promote", APP, "--full", "--wait", "--timeout", "60s")

    new = {name_of(each) for each in (await stage.host.list(RELEASES, SHOP)).items} - set(NAMES)
    await stage.until(lambda: stage.serves_only(next(iter(new))))
    await is_restored_from_a_backup(stage)


async def is_restored_from_a_backup(stage):
    """A host that has lost its applications gets them back, and the pods run on."""
    stage.stop_controller()
    before, backup = await stage.running(), str(stage.folder / "backup.yaml")
    await asyncio.to_thread(stage.type, "rollout", "backup", "-f", backup)
    await stage.lose_applications()
    await stage.until(stage.has_none)
    said = await asyncio.to_thread(stage.type, "rollout", "restore", "-f", backup)
    assert "start the control plane" in said

    stage.start_controller()
    told = await asyncio.to_thread(stage.type, "rollout", "status", APP, "--complete", "--timeout", "60s")
    assert "is complete" in told
    releases = {name_of(each) for each in (await stage.host.list(RELEASES, SHOP)).items}
    assert len(releases) == len(NAMES) + 1
    # Long enough for whatever the control plane would do about objects that are not its own.
    await stage.host.runtime.sleep(5.0)
    assert await stage.running() == before


async def generations_of(stage):
    return [obj["metadata"]["generation"] for obj in (await stage.member.list(DEPLOYMENTS, SHOP)).items]
