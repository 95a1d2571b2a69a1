"""Shipper's kinds and rollout blocks on a real API server, by kubectl; numbers are the lines of Shipper's checklist.

Hanse goes by the same administrator's name as the person here.
"""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.pieces import PIECE_CRD
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import APPLICATIONS, GLOBAL_BLOCKS_NAMESPACE, OVERRIDE_ANNOTATION, RELEASES, ROLLOUT_BLOCKS
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.conditions import condition, is_true
from hanse.kube.errors import Invalid
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import annotations_of, dig
from hanse.kube.resources import CRDS
from hanse.rollouts.applications import ApplicationController
from hanse.rollouts.blocks import BlockController, install_block_admission
from hanse.rollouts.shelf import Shelf
from tests.behaviour.rollouts import FIRST, SECOND, SEED
from tests.component.rollouts.applications.forms import EVERYTHING, TRIED, application
from tests.component.rollouts.applications.stage import Shelves
from tests.kubernetes.follower import closing
from tests.kubernetes.real import KubectlError

pytestmark = pytest.mark.kubernetes

PATIENCE_SECONDS = 120.0
FREEZE, NIGHT = "default/freeze", f"{GLOBAL_BLOCKS_NAMESPACE}/night"
BLOCK = """\
apiVersion: shipper.booking.com/v1alpha1
kind: RolloutBlock
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{message: a feast, author: {{type: user, name: otto}}}}
"""


@asynccontextmanager
async def hanse(client):
    """Run the controllers of applications and blocks."""
    shelf = Shelf(client)
    controllers = (shelf, ApplicationController(client, shelf, Shelves()), BlockController(client, shelf))
    tasks = [asyncio.create_task(each.run()) for each in controllers]
    yield
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Person:
    """Somebody with kubectl."""

    def __init__(self, cluster):
        self._cluster = cluster

    async def kubectl(self, *arguments, said=None):
        return await asyncio.to_thread(self._cluster.kubectl, *arguments, input=said)

    async def apply(self, manifest):
        return await self.kubectl("apply", "--filename", "-", said=manifest)

    async def is_refused(self, *arguments, said=None):
        with pytest.raises(KubectlError) as refused:
            await self.kubectl(*arguments, said=said)
        return str(refused.value)


async def until(holds):
    runtime = SystemRuntime()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holds():
            await runtime.sleep(0.1)


async def serve(client):
    for crd in (*SHIPPER_CRDS, PIECE_CRD):
        await client.apply(CRDS, crd)
    names = {crd["metadata"]["name"] for crd in (*SHIPPER_CRDS, PIECE_CRD)}

    async def established():
        found = (await client.list(CRDS)).items
        return names <= {
            each["metadata"]["name"] for each in found if is_true(dig(each, "status", "conditions"), "Established")
        }

    await until(established)
    assert await install_block_admission(client)


async def test_a_real_api_server_serves_shippers_kinds_and_refuses_what_blocks_forbid(host):
    person = Person(host)
    endpoint = Kubeconfig.load(host.kubeconfig).endpoint()
    async with closing(Client(HttpTransport(endpoint), SystemRuntime())) as client:
        await serve(client)
        for namespace in (SYSTEM_NAMESPACE, GLOBAL_BLOCKS_NAMESPACE):
            await person.kubectl("create", "namespace", namespace)

        async def history():
            app = await client.get(APPLICATIONS, "super-server", "default")
            return dig(app, "status", "history", default=[])

        async def taken():
            with suppress(KubectlError):
                return await person.apply(SEED)

        async with hanse(client):
            # A server takes a moment to hear of new kinds in its own admission, and refuses until then.
            await until(taken)
            await until(lambda: _equal(history(), [FIRST]))
            await _the_kinds_are_served(person)
            await _what_a_release_stands_still_for_is_shown(person, client)
            await _whatever_may_be_written_is_kept(client)
            await _refuses_what_a_block_forbids(person, client)
            await _lets_overrides_through(person, client)
            await until(lambda: _equal(history(), [SECOND]))
            await _lets_go_of_dead_overrides(person, client)
            await _lets_garbage_be_collected(person, client)


async def _equal(coming, expected):
    return await coming == expected


async def _the_kinds_are_served(person):
    shown = await person.kubectl("get", "app")
    assert shown.splitlines()[0].split() == ["NAME", "LATEST", "RELEASE", "ROLLING", "OUT", "AGE"]
    assert shown.splitlines()[1].split()[:3] == ["super-server", FIRST, "True"]
    header = (await person.kubectl("get", "rel")).splitlines()[0].split()
    assert header == ["NAME", "AGE", "ACHIEVED", "STEP", "CLUSTERS", "WAITING", "REASON", "HELD"]
    told = await person.kubectl("explain", "application.spec.template.strategy.steps.pause")
    assert "The step ends by itself" in told
    assert "Invalid value: -1" in await person.is_refused(
        "patch", "rel", FIRST, "--type=merge", "--patch", '{"spec": {"targetStep": -1}}'
    )
    changed = '{"spec": {"environment": {"values": {"replicaCount": 9}}}}'
    told = await person.is_refused("patch", "rel", FIRST, "--type=merge", "--patch", changed)
    assert "the Release environment must not be changed; consider editing the Application object" in told


async def _what_a_release_stands_still_for_is_shown(person, client):
    held = condition("Held", True, "CheckFailed", "check failed")
    progress = {"step": 0, "failure": {"message": "check failed", "later": 1}, "checks": {"c": {"asked": 1, "new": 2}}}
    status = {"status": {"conditions": [held], "progress": {**progress, "added": {"x": 1}}}}
    written = await client.patch(RELEASES, FIRST, status, "default", subresource="status")
    assert written["status"]["progress"] == status["status"]["progress"]
    assert (await person.kubectl("get", "rel", FIRST)).splitlines()[1].endswith("check failed")
    assert "a person let the step go on" in await person.kubectl("explain", "release.status.progress.failure")


async def _whatever_may_be_written_is_kept(client):
    taken = await client.create(APPLICATIONS, application(EVERYTHING, name="all"), options=TRIED)
    assert taken["spec"]["template"] == EVERYTHING
    both = {**EVERYTHING, "source": {"manifests": {"location": "configmap://web"}}}
    with pytest.raises(Invalid, match="give either chart or source, and not both"):
        await client.create(APPLICATIONS, application(both, name="all"), options=TRIED)


async def _refuses_what_a_block_forbids(person, client):
    await person.apply(BLOCK.format(name="freeze", namespace="default"))
    await person.apply(BLOCK.format(name="night", namespace=GLOBAL_BLOCKS_NAMESPACE))

    async def blocked():
        app = await client.get(APPLICATIONS, "super-server", "default")
        return is_true(dig(app, "status", "conditions"), "Blocked")

    await until(blocked)
    stepping = ("patch", "rel", FIRST, "--type=merge", "--patch", '{"spec": {"targetStep": 1}}')

    async def known():
        with suppress(KubectlError):
            return not await person.kubectl(*stepping, "--dry-run=server")
        return True

    # Its admission hears of a new block a moment after it was stored.
    await until(known)
    for asked in (stepping, ("delete", "rel", FIRST), ("delete", "app", "super-server")):
        assert "rollout block(s) with name(s)" in await person.is_refused(*asked)
    told = await person.is_refused("apply", "--filename", "-", said=SEED.replace("super-server", "another"))
    assert "rollout block(s) with name(s)" in told
    assert 'rollout block with name "default/old" does not exist' in await person.is_refused(
        "annotate", "app", "super-server", f"{OVERRIDE_ANNOTATION}=default/old"
    )
    await person.kubectl("label", "app", "super-server", "team=a")


async def _lets_overrides_through(person, client):
    override = f"{OVERRIDE_ANNOTATION}={NIGHT},{FREEZE}"

    async def overridden():
        with suppress(KubectlError):
            return await person.kubectl("annotate", "app", "super-server", override)

    await until(overridden)
    await person.apply(SEED.replace("0.0.1", "0.0.2"))

    async def listed():
        block = await client.get(ROLLOUT_BLOCKS, "freeze", "default")
        return f"default/{SECOND}" in dig(block, "status", "overrides", "release", default="")

    await until(listed)

    async def going():
        found = await client.find(RELEASES, FIRST, "default")
        return found is not None and found["metadata"].get("deletionTimestamp")

    # The first was never completed, and goes under its application's override.
    await until(going)
    await client.patch(RELEASES, FIRST, {"metadata": {"finalizers": None}}, "default")


async def _lets_go_of_dead_overrides(person, client):
    await person.kubectl("delete", "rb", "freeze")

    async def gone():
        found = [
            await client.get(APPLICATIONS, "super-server", "default"),
            await client.get(RELEASES, SECOND, "default"),
        ]
        return all(annotations_of(each)[OVERRIDE_ANNOTATION] == NIGHT for each in found)

    await until(gone)


async def _lets_garbage_be_collected(person, client):
    """What lost its owner goes, although a block stands that it does not override itself."""
    await person.kubectl("annotate", "rel", SECOND, f"{OVERRIDE_ANNOTATION}-")
    assert "rollout block(s) with name(s)" in await person.is_refused("delete", "rel", SECOND)
    await person.kubectl("delete", "app", "super-server", "--wait=false")

    async def collected():
        return (await client.get(RELEASES, SECOND, "default"))["metadata"].get("deletionTimestamp")

    await until(collected)
