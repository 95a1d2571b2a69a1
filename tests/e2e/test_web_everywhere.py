"""One Deployment over three clusters, from apply to delete, driven by the real kubectl.

The same story is told on an embedded federation and on four real Kubernetes clusters, each once undisturbed and once
with the control plane killed in the middle of every step.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.federation import MEMBERS, Federation, Refused, embedded_federation, get, real_federation
from tests.kubernetes.real import KubectlError, wait_until

NAMESPACE = ["-n", "shop"]
HOSTNAME = "web.shop.federation.federation.local"
KINDS = ("deployments", "services", "configmaps")
REPLACED_WITHIN_SECONDS = 45


@pytest.fixture
def federation(request, tmp_path) -> Iterator[Federation]:
    with request.param(tmp_path) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("federation", "killed"),
    [
        pytest.param(embedded_federation, False, id="embedded-undisturbed"),
        # It takes a minute, most of it waiting, which the quick tests have not.
        pytest.param(embedded_federation, True, id="embedded-killed in every step", marks=pytest.mark.kubernetes),
        pytest.param(real_federation, False, id="real-undisturbed", marks=pytest.mark.kubernetes),
        pytest.param(real_federation, True, id="real-killed in every step", marks=pytest.mark.kubernetes),
    ],
    indirect=["federation"],
)
def test_a_deployment_lives_through_its_whole_life_in_three_clusters(federation, killed):
    def interrupt() -> None:
        if killed:
            federation.kill_control_plane()

    wait_until(lambda: ready_clusters(federation) == set(MEMBERS), seconds=60, what="three ready clusters")
    others = {member: names_outside(federation, member) for member in MEMBERS}

    # Applied, it is everywhere, three replicas each, and the federation says so.
    federation.kubectl("federation", "apply", "-f", "examples/web")
    interrupt()
    wait_for_spread(federation, dict.fromkeys(MEMBERS, 3))
    federation.kubectl("federation", "rollout", "status", "deployment/web", *NAMESPACE, "--timeout=180s")
    assert get(federation, "federation", "deployment", "web", *NAMESPACE)["status"]["availableReplicas"] == 9
    for member in MEMBERS:
        assert get(federation, member, "configmap", "web", *NAMESPACE)["data"] == {"greeting": "Moin"}
    wait_until(lambda: len(federation.dig(HOSTNAME)) == 3, seconds=60, what="an address of each cluster")
    wait_until(lambda: hostnames(federation) == [HOSTNAME], seconds=60, what="the name in its status")

    # It can be explained.
    told = federation.hanse("explain", "deployment", "web")
    for member in MEMBERS:
        assert f"{member}" in told
    assert told.count("9 replicas divided equally over 3 ready clusters give it 3.") == 3

    # A new image rolls everywhere.
    federation.kubectl("federation", "set", "image", "deployment/web", "web=nginx:1.30", *NAMESPACE)
    interrupt()
    federation.kubectl("federation", "rollout", "status", "deployment/web", *NAMESPACE, "--timeout=180s")
    for member in MEMBERS:
        assert image(federation, member) == "nginx:1.30"

    # A hand edit in a member is put back.
    federation.kubectl("us-east", "set", "image", "deployment/web", "web=nginx:edited", *NAMESPACE)
    interrupt()
    wait_until(lambda: image(federation, "us-east") == "nginx:1.30", seconds=60, what="the edit put back")
    federation.kubectl("us-east", "rollout", "status", "deployment/web", *NAMESPACE, "--timeout=180s")

    # A lost cluster's replicas are replaced on the other two.
    federation.fail("eu-west")
    interrupt()
    survivors = ("ap-south", "us-east")
    wait_until(
        lambda: sum(available(federation, member) for member in survivors) == 9,
        seconds=REPLACED_WITHIN_SECONDS,
        what="nine replicas on two clusters",
    )
    wait_until(lambda: federation_available(federation) == 9, seconds=60, what="the federation counts nine")
    assert "offline" in federation.hanse("explain", "deployment", "web")
    wait_until(lambda: len(federation.dig(HOSTNAME)) == 2, seconds=60, what="the lost cluster out of DNS")
    region, everywhere = (f"web.shop.federation.svc{part}.federation.local" for part in (".eu-west", ""))
    wait_until(lambda: federation.dig(region)[:1] == [f"{everywhere}."], seconds=60, what="its region led on")

    # Healed, it is three each again, and never fewer than nine on the way.
    with never_below(federation, 9, survivors=survivors):
        federation.heal("eu-west")
        interrupt()
        wait_for_spread(federation, dict.fromkeys(MEMBERS, 3))
    wait_until(lambda: len(federation.dig(HOSTNAME)) == 3, seconds=60, what="the healed cluster in DNS")

    # Deleted, it is gone everywhere, and nothing else is.
    federation.kubectl("federation", "delete", "-f", "examples/web", "--wait=false", "--ignore-not-found")
    interrupt()
    wait_until(lambda: not any(leftovers(federation, member) for member in MEMBERS), seconds=60, what="clean members")
    wait_until(lambda: "shop" not in namespaces(federation, "federation"), seconds=60, what="the namespace gone")
    assert {member: names_outside(federation, member) for member in MEMBERS} == others
    wait_until(lambda: not federation.dig(region), seconds=60, what="no name left")


def ready_clusters(federation):
    return {
        cluster["metadata"]["name"]
        for cluster in get(federation, "federation", "clusters")["items"]
        for condition in cluster.get("status", {}).get("conditions", [])
        if condition["type"] == "Ready" and condition["status"] == "True"
    }


def deployment(federation, context):
    try:
        return get(federation, context, "deployment", "web", *NAMESPACE)
    except (Refused, KubectlError):
        return {"spec": {"replicas": 0}, "status": {}}


def available(federation, context):
    return deployment(federation, context)["status"].get("availableReplicas", 0)


def federation_available(federation):
    return available(federation, "federation")


def image(federation, context):
    return deployment(federation, context)["spec"]["template"]["spec"]["containers"][0]["image"]


def spread(federation):
    found = {member: deployment(federation, member) for member in MEMBERS}
    return {
        member: obj["spec"]["replicas"]
        for member, obj in found.items()
        if obj["status"].get("availableReplicas") == obj["spec"]["replicas"]
    }


def wait_for_spread(federation, wanted):
    wait_until(lambda: spread(federation) == wanted, seconds=90, what=f"the spread {wanted}")


def hostnames(federation):
    service = get(federation, "federation", "service", "web", *NAMESPACE)
    return [entry.get("hostname") for entry in service["status"]["loadBalancer"].get("ingress", [])]


def namespaces(federation, context):
    return {namespace["metadata"]["name"] for namespace in get(federation, context, "namespaces")["items"]}


def leftovers(federation, member):
    managed = [
        obj["metadata"]["name"]
        for kind in (*KINDS, "namespaces")
        for obj in get(federation, member, kind, "-A", "-l", "hanse.dev/managed=true")["items"]
    ]
    return managed or "shop" in namespaces(federation, member)


def names_outside(federation, member):
    """Everything of the kinds at hand that is not the shop's."""
    return {
        (kind, obj["metadata"].get("namespace"), obj["metadata"]["name"])
        for kind in (*KINDS, "namespaces", "secrets", "serviceaccounts")
        for obj in get(federation, member, kind, "-A")["items"]
        if "shop" not in (obj["metadata"].get("namespace"), obj["metadata"]["name"])
    }


@contextmanager
def never_below(federation, count, *, survivors):
    """Watch the members' available replicas for the length of a block."""
    seen: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            counts = {member: available(federation, member) for member in MEMBERS}
            # The healing member counts once it answers. While all of an embedded federation restarts, the others
            # do not answer either: nobody can tell then.
            if all(counts[member] for member in survivors):
                seen.append(sum(counts.values()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert seen
    assert min(seen) >= count, seen
