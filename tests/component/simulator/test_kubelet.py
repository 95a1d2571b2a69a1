"""The life of pods on simulated nodes: init containers, sidecars, probes, ends, restarts and troubles."""

import pytest

from hanse.kube.conditions import is_true
from hanse.kube.resources import EVENTS, PODS
from hanse.kube.transport import Request
from tests.component.simulator.harness import ADMIN, NAMESPACE, condition_of, running, world

pytestmark = pytest.mark.looptime
FAILING = "simulator.hanse.dev/failing-probes"


def pod(*, containers=None, annotations=None, **spec):
    metadata = {"name": "solo", "namespace": NAMESPACE, "annotations": annotations or {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers or [container()], **spec},
    }


def container(name="main", *command, **more):
    return {"name": name, "image": "busybox:1", **({"command": list(command)} if command else {}), **more}


def in_phase(phase):
    return lambda found: (found.get("status") or {}).get("phase") == phase


def waiting_for(reason):
    return lambda found: any(
        ((entry.get("state") or {}).get("waiting") or {}).get("reason") == reason
        for field in ("initContainerStatuses", "containerStatuses")
        for entry in (found.get("status") or {}).get(field) or ()
    )


def states(found, field="containerStatuses"):
    return {entry["name"]: next(iter(entry["state"])) for entry in found["status"][field]}


async def events_of(here):
    return {event["reason"]: event["message"] for event in (await here.client.list(EVENTS, NAMESPACE)).items}


async def annotate(here, **annotations):
    body = {"metadata": {"annotations": {f"simulator.hanse.dev/{key}": value for key, value in annotations.items()}}}
    await here.client.patch(PODS, "solo", body, NAMESPACE)


async def test_init_containers_run_one_after_the_other_and_sidecars_stay():
    first = [
        container("migrate", "sleep", "5"),
        container("proxy", restartPolicy="Always"),
        container("warm", "sleep", "3"),
    ]
    async with world() as here, running(here.cluster()):
        began = here.runtime.monotonic()
        await here.client.create(PODS, pod(initContainers=first))
        during = await here.until(
            PODS,
            "solo",
            lambda found: (
                "running" in states(found, "initContainerStatuses").values()
                if (found.get("status") or {}).get("initContainerStatuses")
                else False
            ),
        )
        assert states(during, "initContainerStatuses") == {"migrate": "running", "proxy": "waiting", "warm": "waiting"}
        assert (during["status"]["phase"], states(during)) == ("Pending", {"main": "waiting"})
        assert condition_of(during, "Initialized")["message"] == (
            "containers with incomplete status: [migrate proxy warm]"
        )
        up = await here.until(PODS, "solo", in_phase("Running"))
        assert here.runtime.monotonic() - began > 8.0
        assert states(up, "initContainerStatuses") == {
            "migrate": "terminated",
            "proxy": "running",
            "warm": "terminated",
        }
        assert is_true(up["status"]["conditions"], "Ready")


async def test_an_init_container_that_fails_is_tried_again_or_ends_the_pod():
    first = [container("check", "false")]
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(initContainers=first))
        await here.until(PODS, "solo", waiting_for("CrashLoopBackOff"))
        await here.client.delete(PODS, "solo", NAMESPACE)
        await here.until_gone(PODS)
        await here.client.create(PODS, pod(initContainers=first, restartPolicy="Never"))
        failed = await here.until(PODS, "solo", in_phase("Failed"))
        assert states(failed) == {"main": "waiting"}


@pytest.mark.parametrize(
    ("policy", "command", "phase", "restarts"),
    [
        ("Never", ["sleep", "2"], "Succeeded", 0),
        ("OnFailure", ["sleep", "2"], "Succeeded", 0),
        ("Never", ["sh", "-c", "sleep 2; exit 4"], "Failed", 0),
        ("OnFailure", ["false"], "Running", 2),
        ("Always", ["true"], "Running", 2),
    ],
)
async def test_a_container_that_ends_is_restarted_as_its_pod_says(policy, command, phase, restarts):
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(containers=[container("main", *command)], restartPolicy=policy))
        await here.runtime.sleep(20.0)
        found = await here.client.get(PODS, "solo", NAMESPACE)
        [entry] = found["status"]["containerStatuses"]
        assert (found["status"]["phase"], entry["restartCount"]) == (phase, restarts)
        if phase == "Succeeded":
            assert entry["state"]["terminated"]["reason"] == "Completed"
            assert condition_of(found, "Ready")["reason"] == "PodCompleted"
        if phase == "Running":
            assert entry["state"]["waiting"]["reason"] == "CrashLoopBackOff"
            assert "Back-off restarting failed container main in pod solo_default" in (await events_of(here))["BackOff"]


async def test_a_pod_of_two_containers_is_over_when_both_are():
    both = [container("quick", "sleep", "1"), container("slow", "sleep", "9")]
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(containers=both, restartPolicy="Never"))
        half = await here.until(
            PODS,
            "solo",
            lambda found: (
                (found.get("status") or {}).get("phase") == "Running" and states(found)["quick"] == "terminated"
            ),
        )
        assert states(half) == {"quick": "terminated", "slow": "running"}
        assert not is_true(half["status"]["conditions"], "Ready")
        await here.until(PODS, "solo", in_phase("Succeeded"))


async def test_a_container_is_ready_when_its_readiness_probe_succeeds():
    probe = {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 7}
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(containers=[container(readinessProbe=probe)]))
        up = await here.until(PODS, "solo", in_phase("Running"))
        assert condition_of(up, "Ready")["message"] == "containers with unready status: [main]"
        began = here.runtime.monotonic()
        await here.until(PODS, "solo", lambda found: is_true(found["status"]["conditions"], "Ready"))
        assert 6.5 < here.runtime.monotonic() - began < 8.0
        await annotate(here, **{"failing-probes": "readiness"})
        await here.until(PODS, "solo", lambda found: not is_true(found["status"]["conditions"], "Ready"), seconds=2.0)
        assert "Readiness probe failed" in (await events_of(here))["Unhealthy"]
        await annotate(here, **{"failing-probes": None})
        await here.until(PODS, "solo", lambda found: is_true(found["status"]["conditions"], "Ready"), seconds=2.0)


@pytest.mark.parametrize("kind", ["liveness", "startup"])
async def test_a_container_that_fails_its_probe_for_too_long_is_restarted(kind):
    probe = {"tcpSocket": {"port": 80}, "periodSeconds": 2, "failureThreshold": 4}
    async with world() as here, running(here.cluster()):
        await here.client.create(
            PODS, pod(containers=[container(**{f"{kind}Probe": probe})], annotations={FAILING: kind})
        )
        up = await here.until(PODS, "solo", in_phase("Running"))
        assert is_true(up["status"]["conditions"], "Ready") is (kind == "liveness")
        began = here.runtime.monotonic()
        again = await here.until(
            PODS, "solo", lambda found: found["status"]["containerStatuses"][0]["restartCount"] == 1
        )
        assert 8.0 <= here.runtime.monotonic() - began < 10.0
        assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137
        assert (await events_of(here))["Killing"] == f"Container main failed {kind} probe, will be restarted"


async def test_an_image_that_is_not_there_keeps_a_pod_pending():
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(containers=[{"name": "main", "image": "nginx:missing"}]))
        await here.until(PODS, "solo", waiting_for("ErrImagePull"))
        found = await here.until(PODS, "solo", waiting_for("ImagePullBackOff"))
        assert found["status"]["phase"] == "Pending"
        assert found["status"]["containerStatuses"][0]["state"]["waiting"]["message"] == (
            'Back-off pulling image "nginx:missing"'
        )


@pytest.mark.parametrize(("hang", "least", "most"), [("false", 0.0, 1.0), ("true", 12.0, 13.0)])
async def test_a_pod_that_hangs_is_killed_when_its_grace_is_over(hang, least, most):
    annotations = {"simulator.hanse.dev/hang": hang}
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(annotations=annotations, terminationGracePeriodSeconds=12))
        await here.until(PODS, "solo", in_phase("Running"))
        began = here.runtime.monotonic()
        await here.client.delete(PODS, "solo", NAMESPACE)
        await here.until_gone(PODS)
        assert least <= here.runtime.monotonic() - began < most


async def test_a_pod_is_evicted_when_its_node_runs_short():
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod())
        await here.until(PODS, "solo", in_phase("Running"))
        await annotate(here, evict="memory")
        failed = await here.until(PODS, "solo", in_phase("Failed"))
        assert failed["status"]["reason"] == "Evicted"
        assert failed["status"]["message"] == "The node was low on resource: memory. "
        assert states(failed) == {"main": "terminated"}
        assert "Evicted" in await events_of(here)


async def test_a_pod_that_outlives_its_deadline_fails():
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(activeDeadlineSeconds=5))
        failed = await here.until(PODS, "solo", in_phase("Failed"))
        assert failed["status"]["reason"] == "DeadlineExceeded"


async def test_a_readiness_gate_keeps_a_pod_from_being_ready():
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, pod(readinessGates=[{"conditionType": "example.com/open"}]))
        up = await here.until(PODS, "solo", in_phase("Running"))
        assert is_true(up["status"]["conditions"], "ContainersReady")
        assert condition_of(up, "Ready")["reason"] == "ReadinessGatesNotReady"
        now = up["metadata"]["creationTimestamp"]
        opened = {"type": "example.com/open", "status": "True", "lastTransitionTime": now}
        body = {"status": {"conditions": [*up["status"]["conditions"], opened]}}
        await here.client.patch(PODS, "solo", body, NAMESPACE, subresource="status")
        await here.until(PODS, "solo", lambda found: is_true(found["status"]["conditions"], "Ready"))


async def test_a_log_is_followed_until_its_container_ends():
    async with world() as here, running(here.cluster()) as cluster:
        await here.client.create(PODS, pod(containers=[container("main", "sleep", "70")], restartPolicy="Never"))
        await here.until(PODS, "solo", in_phase("Running"))
        pieces = [piece async for piece in await cluster.pod_logs(NAMESPACE, "solo", {"follow": "true"})]
        lines = b"".join(pieces).decode().splitlines()
        assert lines[0].startswith("started busybox:1 on node us-east-node-")
        assert lines[2:] == ["GET /healthz 200 (1)", "GET /healthz 200 (2)", "exited with code 0"]
        assert len(pieces) == 4


async def test_a_pod_that_somebody_holds_on_to_tells_how_it_ended():
    async with world() as here, running(here.cluster()):
        held = pod()
        held["metadata"]["finalizers"] = ["example.com/held"]
        await here.client.create(PODS, held)
        await here.until(PODS, "solo", in_phase("Running"))
        await here.client.delete(PODS, "solo", NAMESPACE)
        ended = await here.until(PODS, "solo", in_phase("Failed"))
        assert ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
        await here.client.patch(PODS, "solo", {"metadata": {"finalizers": None}}, NAMESPACE)
        await here.until_gone(PODS)


async def test_a_pod_serves_a_page_that_says_which_one_it_is():
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/solo/proxy/hello"
    async with world() as here, running(here.cluster()) as cluster:
        cluster.serve_through(here.server)
        await here.client.create(PODS, pod(containers=[container("main", "sleep", "9")], restartPolicy="Never"))
        up = await here.until(PODS, "solo", in_phase("Running"))
        transport = here.server.connect(ADMIN)
        page = (await transport.send(Request("GET", path), 5.0)).body.decode().splitlines()
        assert page[:3] == ["cluster: us-east", f"node: {up['spec']['nodeName']}", "pod: solo"]
        assert page[-1] == "path: /hello"
        await here.until(PODS, "solo", in_phase("Succeeded"))
        assert (await transport.send(Request("GET", path), 5.0)).status == 503
