"""Where a DaemonSet runs and what it does next, case by case."""

import pytest

from hanse.kube.manifest import dig
from hanse.simulator.workloads.daemonset_nodes import DaemonNode, daemon_node, daemon_pod
from hanse.simulator.workloads.daemonset_plan import DaemonSituation, daemonset_status, plan_daemonset
from tests.unit.simulator.workload_builders import NOW, pod, starting, workload

NEW = "hash-2"


def daemon_set(strategy=None, pod_spec=None, **spec):
    made = workload("DaemonSet", {"updateStrategy": strategy or {"type": "RollingUpdate"}, **spec})
    made["spec"]["template"]["spec"] |= pod_spec or {}
    return made


def node(name="node-1", labels=None, taints=()):
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": list(taints)}}


def taint(effect, key="dedicated"):
    return {"key": key, "effect": effect}


@pytest.mark.parametrize(
    ("pod_spec", "the_node", "starts", "stays"),
    [
        pytest.param({}, node(), True, True, id="anywhere"),
        pytest.param({"nodeSelector": {"disk": "fast"}}, node(), False, False, id="not selected"),
        pytest.param({"nodeSelector": {"disk": "fast"}}, node(labels={"disk": "fast"}), True, True, id="selected"),
        pytest.param({"nodeName": "node-2"}, node(), False, False, id="another node by name"),
        pytest.param({}, node(taints=[taint("NoSchedule")]), False, True, id="kept out, but may stay"),
        pytest.param({}, node(taints=[taint("NoExecute")]), False, False, id="driven out"),
        pytest.param({}, node(taints=[taint("PreferNoSchedule")]), True, True, id="rather not"),
        pytest.param(
            {}, node(taints=[taint("NoSchedule", "node.kubernetes.io/unschedulable")]), True, True, id="cordoned"
        ),
        pytest.param({}, node(taints=[taint("NoExecute", "node.kubernetes.io/not-ready")]), True, True, id="not ready"),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]}, node(taints=[taint("NoExecute")]), True, True, id="tolerates all"
        ),
    ],
)
def test_a_node_is_judged(pod_spec, the_node, starts, stays):
    assert daemon_node(daemon_set(pod_spec=pod_spec), the_node) == DaemonNode("node-1", starts=starts, stays=stays)


def test_a_required_affinity_chooses_nodes_and_gives_way_to_the_one_that_was_chosen():
    terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    owner = daemon_set(pod_spec={"affinity": {"nodeAffinity": required}})
    assert not daemon_node(owner, node()).starts
    assert daemon_node(owner, node(labels={"disk": "fast"})).starts
    made = daemon_pod(owner, "node-1", NEW)
    chosen = dig(made, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    field = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
    assert chosen == {"nodeSelectorTerms": [{"matchFields": [field]}]}
    assert made["metadata"]["labels"]["controller-revision-hash"] == NEW


NODES = [DaemonNode(f"node-{number}", starts=True, stays=True) for number in (1, 2, 3)]


def on(number, *, new=False, name="", **facts):
    make = starting if facts.pop("unready", False) else pod
    return make(name or f"p{number}", NEW if new else "hash-1", node=f"node-{number}", **facts)


def situation(pods, *, nodes=NODES, strategy=None, **spec):
    return DaemonSituation(daemon_set(strategy, **spec), nodes, pods, NEW, NOW)


def rolling(**bounds):
    return {"type": "RollingUpdate", "rollingUpdate": bounds}


ALL_OLD = [on(1), on(2), on(3)]


@pytest.mark.parametrize(
    ("here", "create", "delete"),
    [
        pytest.param(situation([]), ["node-1", "node-2", "node-3"], [], id="everywhere"),
        pytest.param(situation([on(1, new=True), on(3, new=True)]), ["node-2"], [], id="where it lacks"),
        pytest.param(
            situation([on(1, new=True)], nodes=[DaemonNode("node-1", starts=False, stays=False)]),
            [],
            ["p1"],
            id="not where it may not",
        ),
        pytest.param(
            situation([on(1, new=True), on(1, new=True, name="later", created=NOW)], nodes=NODES[:1]),
            [],
            ["later"],
            id="not twice",
        ),
        pytest.param(
            situation([on(1, new=True, phase="Failed", ready=False)], nodes=NODES[:1]), [], ["p1"], id="not failed"
        ),
        pytest.param(
            situation([starting("lost", NEW, node="", bound_for="gone")], nodes=[]), [], ["lost"], id="not for no node"
        ),
        pytest.param(situation(ALL_OLD), [], ["p1"], id="one is replaced at a time"),
        pytest.param(situation(ALL_OLD, strategy=rolling(maxUnavailable=2)), [], ["p1", "p2"], id="or two"),
        pytest.param(situation(ALL_OLD, strategy=rolling(maxUnavailable="50%")), [], ["p1", "p2"], id="or a share"),
        pytest.param(
            situation([on(1, new=True, unready=True), on(2), on(3)]), [], [], id="not before the last is ready"
        ),
        pytest.param(situation([on(1, unready=True), on(2), on(3)]), [], ["p1"], id="what is not ready goes first"),
        pytest.param(situation(ALL_OLD, strategy={"type": "OnDelete"}), [], [], id="on delete means by hand"),
        pytest.param(
            situation(ALL_OLD, strategy=rolling(maxSurge=1, maxUnavailable=0)), ["node-1"], [], id="a surge adds first"
        ),
        pytest.param(
            situation(
                [*ALL_OLD, on(1, new=True, name="n1", unready=True)], strategy=rolling(maxSurge=1, maxUnavailable=0)
            ),
            [],
            [],
            id="a surge waits for what it added",
        ),
        pytest.param(
            situation([*ALL_OLD, on(1, new=True, name="n1")], strategy=rolling(maxSurge=1, maxUnavailable=0)),
            [],
            ["p1"],
            id="then the old one goes",
        ),
    ],
)
def test_the_next_step(here, create, delete):
    plan = plan_daemonset(here)
    assert list(plan.create) == create
    assert [facts.key.name for facts in plan.delete] == delete


def test_the_status_counts_nodes():
    nodes = [*NODES, DaemonNode("node-4", starts=False, stays=True)]
    here = situation([on(1, new=True), on(2, unready=True), on(4)], nodes=nodes)
    assert daemonset_status(here) == {
        "observedGeneration": 1,
        "currentNumberScheduled": 2,
        "numberMisscheduled": 1,
        "desiredNumberScheduled": 3,
        "numberReady": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
        "numberUnavailable": 2,
    }
