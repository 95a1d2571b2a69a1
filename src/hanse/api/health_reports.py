"""`HealthReport` of hanse.dev/v1alpha1: what one checker is asked to probe of one Service, and what it sees.

The federation's leader writes the spec, the checker the status, and that only when a judgement has changed. The report
of a cluster that fetches its work is in that cluster's namespace on the host, all others are in Hanse's own. Whether
it counts says the Lease that the checker holds beside it.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.api.names import AGENT_NAMESPACE_PREFIX, SYSTEM_NAMESPACE
from hanse.api.works import agent_namespace
from hanse.kube.manifest import Key
from hanse.kube.resources import Resource

HEALTH_REPORTS = Resource("hanse.dev", "v1alpha1", "healthreports", "HealthReport")

# On a Service: how its addresses are probed, as JSON; without it a TCP connection to its first TCP port is tried.
HEALTH_CHECK_ANNOTATION = "hanse.dev/health-check"
# On the Leases of checkers, so that they are found among all others.
CHECKER_LABEL = "hanse.dev/checker"

# The checker at the federation's own side; no cluster's checker can be called so.
HOST_CHECKER = "host"
_CLUSTER_CHECKER = "cluster-"
_LEASE = "checker-"


def cluster_checker(cluster: str) -> str:
    """Return what the checker in a cluster is called."""
    return f"{_CLUSTER_CHECKER}{cluster}"


def checker_lease(checker: str, namespace: str = SYSTEM_NAMESPACE) -> Key:
    """Return the Lease by which a checker shows that it is there."""
    return Key(namespace, f"{_LEASE}{checker}")


def checker_of(lease: Key) -> str:
    """Return whose Lease it is, "" where it is no checker's.

    A cluster's own account can write what it likes into its own namespace: it has the one checker of that cluster.
    """
    checker = lease.name.removeprefix(_LEASE)
    if checker == lease.name:
        return ""
    if lease.namespace == SYSTEM_NAMESPACE:
        return checker
    cluster = lease.namespace.removeprefix(AGENT_NAMESPACE_PREFIX)
    return checker if lease.namespace == agent_namespace(cluster) and checker == cluster_checker(cluster) else ""


def report_key(namespace: str, checker: str, service: Key) -> Key:
    """Return where a checker's report on a Service is; the parts of the name have no dots of their own."""
    return Key(namespace, f"{checker}.{service.name}.{service.namespace}")


def _listed(items: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": description}


def _count(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


_TARGET = {"cluster": text("Whose address it is"), "address": text("An IPv4 or IPv6 address")}
_TARGET_FIELDS = ["cluster", "address"]

_SPEC = record(
    {
        "checker": text("Who is asked"),
        "service": record({"namespace": text(), "name": text()}, "Which Service", required=["namespace", "name"]),
        "check": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "description": f"How to probe, as the annotation {HEALTH_CHECK_ANNOTATION} says it",
        },
        "targets": _listed(record(_TARGET, required=_TARGET_FIELDS), "The addresses to probe"),
    },
    required=["checker", "service", "check", "targets"],
)

_STATUS = record(
    {
        "session": text("Which run of the checker tells this; what an earlier one told ends with its silence"),
        "alive": _listed(record(_TARGET, required=_TARGET_FIELDS), "The addresses that answer as they should"),
        "dead": _listed(
            record(_TARGET | {"why": text("What the probe found")}, required=_TARGET_FIELDS), "Those that do not"
        ),
        "aliveCount": _count("How many answer"),
        "deadCount": _count("How many do not"),
    }
)

HEALTH_REPORT_CRD = definition(
    HEALTH_REPORTS,
    record(
        {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, "spec": _SPEC, "status": _STATUS},
        "What one checker sees of the addresses of one Service.",
        required=["spec"],
    ),
    [
        column("Checker", "string", ".spec.checker"),
        column("Service-Namespace", "string", ".spec.service.namespace"),
        column("Service", "string", ".spec.service.name"),
        column("Alive", "integer", ".status.aliveCount"),
        column("Dead", "integer", ".status.deadCount"),
        column("Why", "string", ".status.dead[0].why", priority=1),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    status=True,
)
