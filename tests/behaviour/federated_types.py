"""The manifests of examples/kubefed as a user creates them: what comes of them in a federation of three clusters.

They name cluster1 and cluster2, as the documents do that they come from; here these are two of the federation's own.
Numbers are lines of KubeFed's checklist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.e2e.federation import MEMBERS, Federation, Refused, get
from tests.kubernetes.real import KubectlError, wait_until

FOLDER = Path(__file__).parents[2] / "examples" / "kubefed"
CLUSTERS = {"cluster1": "ap-south", "cluster2": "eu-west"}
NAMESPACE = "test-namespace"
PATIENCE_SECONDS = 60.0
# A real host takes a hundred definitions, one after the other.
SERVING_SECONDS = 180.0


def federated_manifests_give_the_seeds_results(federation: Federation) -> None:
    """Lines 1 to 6, 9, 13, 68 and 100, and nine replicas over a ready 3 and 5."""
    wait_until(lambda: _are_served(federation), seconds=SERVING_SECONDS, what="federated types are served")
    _create(federation, "frontend")
    _until("5 and 10 replicas", lambda: _replicas(federation, "replicaset/frontend", "default") == _in(5, 10))
    federation.kubectl("federation", "create", "namespace", NAMESPACE)
    _create(federation, "test-deployment")
    _until("3 and 5 ready replicas", lambda: _ready(federation) == _in(3, 5))

    _create(federation, "preference")
    _until("4 and 5 replicas", lambda: _deployed(federation) == {**_in(4, 5), "us-east": 0})
    kind = "replicaschedulingpreferences.scheduling.federation.k8s.io"
    _until("the preference knows", lambda: _decided(federation, kind) == {**_in(4, 5), "us-east": 0})
    federation.kubectl("federation", "delete", f"{kind}/test-deployment", f"--namespace={NAMESPACE}")
    _until("3 and 5 replicas again", lambda: _deployed(federation) == _in(3, 5))

    for name in ("test-deployment", "frontend"):
        federation.kubectl("federation", "delete", "--filename=-", input=_manifest(name))
    _until("nothing left", lambda: not _deployed(federation))
    _until("nothing left", lambda: not _replicas(federation, "replicaset/frontend", "default"))
    federation.kubectl("federation", "delete", "namespace", NAMESPACE)


def _are_served(federation: Federation) -> bool:
    groups = ("core.federation.k8s.io", "types.federation.k8s.io", "scheduling.federation.k8s.io")
    listed = [
        federation.kubectl("federation", "api-resources", f"--api-group={group}", "-o", "name") for group in groups
    ]
    wanted = ("federatedreplicasetoverrides", "federateddeployments", "replicaschedulingpreferences")
    return all(f"{name}." in names for name, names in zip(wanted, listed, strict=True))


def _in(first: int, second: int) -> dict[str, int]:
    return {CLUSTERS["cluster1"]: first, CLUSTERS["cluster2"]: second}


def _manifest(name: str) -> str:
    text = (FOLDER / f"{name}.yaml").read_text()
    for written, meant in CLUSTERS.items():
        text = text.replace(written, meant)
    return text


def _create(federation: Federation, name: str) -> None:
    federation.kubectl("federation", "create", "--filename=-", input=_manifest(name))


def _until(what: str, holds: Callable[[], bool]) -> None:
    wait_until(holds, seconds=PATIENCE_SECONDS, what=what)


def _deployed(federation: Federation) -> Mapping[str, int]:
    return _replicas(federation, "deployment/test-deployment", NAMESPACE)


def _replicas(federation: Federation, name: str, namespace: str) -> Mapping[str, int]:
    return _numbers(federation, name, namespace, "spec", "replicas")


def _ready(federation: Federation) -> Mapping[str, int]:
    return _numbers(federation, "deployment/test-deployment", NAMESPACE, "status", "readyReplicas")


def _numbers(federation: Federation, name: str, namespace: str, part: str, field: str) -> Mapping[str, int]:
    found = {}
    for member in MEMBERS:
        try:
            found[member] = get(federation, member, name, f"--namespace={namespace}").get(part, {}).get(field, 0)
        except (Refused, KubectlError):
            continue
    return found


def _decided(federation: Federation, kind: str) -> Mapping[str, int]:
    preference = get(federation, "federation", f"{kind}/test-deployment", f"--namespace={NAMESPACE}")
    decided: Mapping[str, int] = preference.get("status", {}).get("clusters", {})
    return decided
