"""A cluster dies while people are at work, and comes back: how long its replicas are missing, and who moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.behaviour.federated_kinds import apply, manifest, workload
from tests.e2e.federation import MEMBERS, Federation, Refused, get
from tests.kubernetes.real import KubectlError, wait_until

NAMESPACE = "lost"
HERE = f"--namespace={NAMESPACE}"
LOST, SURVIVORS = "eu-west", ("ap-south", "us-east")
REPLICAS = 9
CALM_SECONDS = 5.0
# What the federation is to keep to is measured and told; a machine that does much else may take longer.
PATIENCE_SECONDS = 150.0


@dataclass(frozen=True, slots=True)
class Loss:
    """What was measured: seconds until the replicas ran elsewhere and were back, and writes of people meanwhile."""

    replaced_seconds: float
    back_seconds: float
    writes: int


def a_cluster_dies_under_load_and_comes_back(federation: Federation) -> Loss:
    """Kill a cluster's API server while people write; heal it, and kill the control plane in the middle of that.

    Nobody's replicas go to and fro.
    """
    apply(
        federation,
        manifest("v1", "Namespace", NAMESPACE, ""),
        manifest("apps/v1", "Deployment", "web", NAMESPACE, spec=workload("web", replicas=REPLICAS)),
    )
    until("three replicas in each cluster", lambda: _spread(federation) == dict.fromkeys(MEMBERS, 3))
    with _people_at_work(federation) as written:
        died = time.monotonic()
        federation.fail(LOST)
        until("all replicas on the survivors", lambda: sum(_spread(federation).values()) == REPLICAS)
        replaced = time.monotonic() - died

        before = {member: _asked(federation, member) for member in SURVIVORS}
        assert sum(replicas for replicas, _ in before.values()) == REPLICAS
        healed = time.monotonic()
        federation.heal(LOST)
        federation.kill_control_plane()
        until("three replicas in each cluster again", lambda: _spread(federation) == dict.fromkeys(MEMBERS, 3))
        back = time.monotonic() - healed
        time.sleep(CALM_SECONDS)
    after = {member: _asked(federation, member) for member in SURVIVORS}
    for member, (replicas, generation) in before.items():
        # Every change of a spec counts in its generation: more of them than replicas left would be a way to and fro.
        assert after[member][0] == 3
        assert after[member][1] - generation <= replicas - 3
    assert written
    federation.kubectl("federation", "delete", "namespace", NAMESPACE)
    return Loss(replaced, back, len(written))


def until(what: str, holds: Callable[[], bool]) -> None:
    wait_until(holds, seconds=PATIENCE_SECONDS, what=what)


def _asked(federation: Federation, member: str) -> tuple[int, int]:
    found = get(federation, member, "deployment", "web", HERE)
    return found["spec"]["replicas"], found["metadata"]["generation"]


def _spread(federation: Federation) -> dict[str, int]:
    """Return the replicas of the clusters that answer and have all that they are asked for."""
    result = {}
    for member in MEMBERS:
        try:
            found = get(federation, member, "deployment", "web", HERE, "--request-timeout=5s")
        except (Refused, KubectlError):
            continue
        if found["status"].get("availableReplicas", 0) == found["spec"]["replicas"]:
            result[member] = found["spec"]["replicas"]
    return result


@contextmanager
def _people_at_work(federation: Federation) -> Iterator[list[int]]:
    """Change a ConfigMap of the federation again and again for the length of a block."""
    done = threading.Event()
    written: list[int] = []

    def work() -> None:
        while not done.wait(0.2):
            try:
                apply(federation, manifest("v1", "ConfigMap", "load", NAMESPACE, data={"round": str(len(written))}))
            except (Refused, KubectlError):
                # An embedded federation that is being restarted as a whole does not answer.
                continue
            written.append(len(written))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        yield written
    finally:
        done.set()
        worker.join()
