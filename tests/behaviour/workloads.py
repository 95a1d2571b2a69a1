"""Scenarios of Deployments, StatefulSets, DaemonSets and ReplicationControllers."""

from __future__ import annotations

from hanse.kube.manifest import annotations_of, labels_of, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, EVENTS, NODES, PODS, REPLICASETS
from hanse.simulator.workloads.kinds import (
    AUTOSCALERS,
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    PERSISTENT_VOLUME_CLAIMS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from tests.behaviour.stage import Stage, image_of, selecting, template, true_conditions

REVISION = "deployment.kubernetes.io/revision"
POD_REVISION = "controller-revision-hash"


async def told_of(here: Stage, reason: str, message: str) -> None:
    await here.until_all(
        EVENTS, lambda events: (reason, message) in {(one["reason"], one["message"]) for one in events.values()}
    )


async def deployment(here: Stage, replicas: int, *, name: str = "web") -> None:
    spec = {"replicas": replicas, "selector": selecting(name), "template": template(name)}
    await here.create(DEPLOYMENTS, name, spec)
    await here.available(name, replicas)


async def a_deployment_rolls_out_goes_back_and_scales(here: Stage) -> None:
    await deployment(here, 3)
    [first] = await here.all(REPLICASETS)
    await here.set_image(DEPLOYMENTS, "web", "nginx:2")
    await here.available("web", 3)
    assert {image_of(pod) for pod in await here.running(3, app="web")} == {"nginx:2"}

    kept = {key: value for key, value in labels_of(first["spec"]["template"]).items() if key != "pod-template-hash"}
    spec = first["spec"]["template"]["spec"]
    await here.change(DEPLOYMENTS, "web", {"spec": {"template": {"metadata": {"labels": kept}, "spec": spec}}})
    back = await here.available("web", 3)
    revisions = {annotations_of(entry)[REVISION]: name_of(entry) for entry in await here.all(REPLICASETS)}
    assert set(revisions) == {"2", "3"}
    assert revisions["3"] == name_of(first)
    assert annotations_of(back)[REVISION] == "3"

    await here.scale(DEPLOYMENTS, "web", 5)
    grown = await here.available("web", 5)
    assert true_conditions(grown) == {
        "Available": "MinimumReplicasAvailable",
        "Progressing": "NewReplicaSetAvailable",
    }


async def deleting_in_the_background_takes_everything(here: Stage) -> None:
    await deployment(here, 2)
    await here.client.delete(DEPLOYMENTS, "web", here.namespace, propagation="Background")
    await here.until_all(PODS, lambda pods: not pods)
    assert await here.all(REPLICASETS) == []


async def deleting_in_the_foreground_keeps_the_owner_until_all_else_is_gone(here: Stage) -> None:
    await deployment(here, 2)
    await here.client.delete(DEPLOYMENTS, "web", here.namespace, propagation="Foreground")
    await here.until_gone(DEPLOYMENTS, "web")
    assert await here.all(REPLICASETS) == []
    assert await here.all(PODS) == []


async def deleting_without_dependents_leaves_orphans_that_are_taken_over(here: Stage) -> None:
    await deployment(here, 2)
    before = {uid_of(pod) for pod in await here.running(2, app="web")}
    await here.client.delete(DEPLOYMENTS, "web", here.namespace, propagation="Orphan")
    await here.until_gone(DEPLOYMENTS, "web")
    [orphan] = await here.all(REPLICASETS)
    assert not orphan["metadata"].get("ownerReferences")
    await deployment(here, 2)
    [adopted] = await here.all(REPLICASETS)
    assert [owner["kind"] for owner in adopted["metadata"]["ownerReferences"]] == ["Deployment"]
    assert {uid_of(pod) for pod in await here.running(2, app="web")} == before


async def a_drain_evicts_as_fast_as_the_budget_allows(here: Stage) -> None:
    await here.create(DISRUPTION_BUDGETS, "web", {"maxUnavailable": 1, "selector": selecting("web")})
    await deployment(here, 3)
    settled = await here.until(
        DISRUPTION_BUDGETS, "web", lambda one: (one.get("status") or {}).get("currentHealthy") == 3
    )
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    assert [settled["status"][count] for count in counts] == [1, 3, 2, 3]
    assert true_conditions(settled) == {"DisruptionAllowed": "SufficientPods"}

    first, second, third = await here.running(3, app="web")
    node = first["spec"]["nodeName"]
    await here.cordon(node)
    try:
        assert await here.evict(first) == 201
        assert await here.evict(second) == 429
        before = {name_of(pod) for pod in (first, second, third)}
        await here.until_gone(PODS, name_of(first))
        await here.available("web", 3)
        [born] = [pod for pod in await here.running(3, app="web") if name_of(pod) not in before]
        assert born["spec"]["nodeName"] != node
        await here.until(DISRUPTION_BUDGETS, "web", lambda one: one["status"]["disruptionsAllowed"] == 1)
        assert await here.evict(second) == 201
        await here.until_gone(PODS, name_of(second))
    finally:
        await here.cordon(node, on=False)


async def a_budget_of_a_number_counts_the_pods_that_there_are(here: Stage) -> None:
    await here.create(DISRUPTION_BUDGETS, "web", {"minAvailable": 2, "selector": selecting("web")})
    await deployment(here, 2)
    settled = await here.until(
        DISRUPTION_BUDGETS, "web", lambda one: (one.get("status") or {}).get("currentHealthy") == 2
    )
    assert settled["status"]["disruptionsAllowed"] == 0
    assert settled["status"]["expectedPods"] == 2
    [entry] = settled["status"]["conditions"]
    assert (entry["type"], entry["status"], entry["reason"]) == ("DisruptionAllowed", "False", "InsufficientPods")
    assert await here.evict((await here.running(2, app="web"))[0]) == 429


async def a_replication_controller_keeps_its_number(here: Stage) -> None:
    await here.create(REPLICATION_CONTROLLERS, "old", {"replicas": 2, "template": template("old")})
    first, second = await here.running(2, app="old")
    await told_of(here, "SuccessfulCreate", f"Created pod: {name_of(first)}")
    await here.client.delete(PODS, name_of(first), here.namespace)
    await here.until_gone(PODS, name_of(first))
    assert name_of(second) in {name_of(pod) for pod in await here.running(2, app="old")}
    await here.scale(REPLICATION_CONTROLLERS, "old", 3)
    done = await here.until(REPLICATION_CONTROLLERS, "old", lambda one: one["status"].get("availableReplicas") == 3)
    status = {key: value for key, value in done["status"].items() if key != "observedGeneration"}
    assert status == {"replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}


async def stateful_set(here: Stage, replicas: int, **spec: object) -> None:
    labels = {"replicas": replicas, "selector": selecting("db"), "serviceName": "db", "template": template("db")}
    await here.create(STATEFUL_SETS, "db", {**labels, **spec})


async def a_stateful_set_grows_and_shrinks_in_order(here: Stage) -> None:
    await stateful_set(here, 3, ordinals={"start": 5})
    pods = await here.running(3, app="db")
    assert [name_of(pod) for pod in pods] == ["db-5", "db-6", "db-7"]
    ready = [next(c for c in pod["status"]["conditions"] if c["type"] == "Ready") for pod in pods]
    born = [pod["metadata"]["creationTimestamp"] for pod in pods]
    assert all(born[place + 1] >= ready[place]["lastTransitionTime"] for place in range(2))
    assert pods[1]["spec"]["hostname"] == "db-6"
    assert pods[1]["spec"]["subdomain"] == "db"
    assert labels_of(pods[1])["apps.kubernetes.io/pod-index"] == "6"
    assert labels_of(pods[1])["statefulset.kubernetes.io/pod-name"] == "db-6"
    await told_of(here, "SuccessfulCreate", "Create Pod db-6 in StatefulSet db successful")
    [revision] = await here.all(CONTROLLER_REVISIONS)
    done = await here.until(STATEFUL_SETS, "db", lambda one: one["status"].get("availableReplicas") == 3)
    assert done["status"] == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "availableReplicas": 3,
        "currentRevision": name_of(revision),
        "updateRevision": name_of(revision),
        "collisionCount": 0,
    }
    await here.scale(STATEFUL_SETS, "db", 1)
    await here.until_gone(PODS, "db-6")
    assert [name_of(pod) for pod in await here.all(PODS)] == ["db-5"]


async def a_partition_holds_a_rollout_back(here: Stage) -> None:
    await stateful_set(here, 3, podManagementPolicy="Parallel")
    await here.running(3, app="db")
    held = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    await here.change(STATEFUL_SETS, "db", {"spec": {"updateStrategy": held}})
    await here.set_image(STATEFUL_SETS, "db", "nginx:2")
    part = await here.until(STATEFUL_SETS, "db", lambda one: one["status"].get("updatedReplicas") == 1)
    part = await here.until(STATEFUL_SETS, "db", lambda one: one["status"].get("readyReplicas") == 3)
    pods = await here.running(3, app="db")
    assert [image_of(pod) for pod in pods] == ["nginx:1", "nginx:1", "nginx:2"]
    assert part["status"]["currentRevision"] != part["status"]["updateRevision"]
    assert part["status"]["currentReplicas"] == 2
    assert labels_of(pods[2])[POD_REVISION] == part["status"]["updateRevision"]

    await here.client.delete(PODS, "db-0", here.namespace)
    await here.until(PODS, "db-0", lambda pod: uid_of(pod) != uid_of(pods[0]))
    assert image_of((await here.running(3, app="db"))[0]) == "nginx:1"

    free = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    await here.change(STATEFUL_SETS, "db", {"spec": {"updateStrategy": free}})
    done = await here.until(
        STATEFUL_SETS, "db", lambda one: one["status"]["currentRevision"] == part["status"]["updateRevision"]
    )
    assert done["status"]["currentReplicas"] == done["status"]["updatedReplicas"] == 3
    assert {image_of(pod) for pod in await here.running(3, app="db")} == {"nginx:2"}
    assert [entry["revision"] for entry in await here.all(CONTROLLER_REVISIONS)].count(2) == 1


async def on_delete_waits_for_somebody_to_delete(here: Stage) -> None:
    await stateful_set(here, 2, updateStrategy={"type": "OnDelete"})
    before = await here.running(2, app="db")
    await here.set_image(STATEFUL_SETS, "db", "nginx:2")
    await here.until(STATEFUL_SETS, "db", lambda one: one["status"]["observedGeneration"] == 2)
    await here.client.delete(PODS, "db-0", here.namespace)
    await here.until(PODS, "db-0", lambda pod: uid_of(pod) != uid_of(before[0]))
    assert [image_of(pod) for pod in await here.running(2, app="db")] == ["nginx:2", "nginx:1"]


async def claims_come_with_ordinals_and_go_as_the_policy_says(here: Stage) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    await stateful_set(
        here,
        2,
        podManagementPolicy="Parallel",
        volumeClaimTemplates=[claim],
        persistentVolumeClaimRetentionPolicy=policy,
    )
    await here.until_all(PERSISTENT_VOLUME_CLAIMS, lambda claims: len(claims) == 2)
    found = await here.all(PERSISTENT_VOLUME_CLAIMS)
    assert [name_of(one) for one in found] == ["data-db-0", "data-db-1"]
    assert labels_of(found[0]) == {"app": "db"}
    pod = await here.until(PODS, "db-1", lambda pod: pod)
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert volumes["data"]["persistentVolumeClaim"] == {"claimName": "data-db-1"}
    owned = await here.until(PERSISTENT_VOLUME_CLAIMS, "data-db-0", lambda one: one["metadata"].get("ownerReferences"))
    assert [owner["kind"] for owner in owned["metadata"]["ownerReferences"]] == ["StatefulSet"]
    await here.client.delete(STATEFUL_SETS, "db", here.namespace)
    await here.until_all(PERSISTENT_VOLUME_CLAIMS, lambda claims: not claims)


async def daemon_set(here: Stage, **spec: object) -> None:
    await here.create(DAEMON_SETS, "agent", {"selector": selecting("agent"), "template": template("agent"), **spec})


async def a_daemon_runs_once_on_every_node_and_is_replaced_node_by_node(here: Stage) -> None:
    nodes = {name_of(node) for node in (await here.client.list(NODES)).items}
    await daemon_set(here)
    pods = await here.running(len(nodes), app="agent")
    assert {pod["spec"]["nodeName"] for pod in pods} == nodes
    tolerated = {(entry.get("key"), entry.get("effect")) for entry in pods[0]["spec"]["tolerations"]}
    assert ("node.kubernetes.io/unschedulable", "NoSchedule") in tolerated
    assert ("node.kubernetes.io/not-ready", "NoExecute") in tolerated

    await here.set_image(DAEMON_SETS, "agent", "nginx:2")

    def updated(one):
        status = one["status"]
        counts = (status.get(name, 0) for name in ("updatedNumberScheduled", "numberAvailable", "numberReady"))
        return status["observedGeneration"] == 2 and all(count == len(nodes) for count in counts)

    done = await here.until(DAEMON_SETS, "agent", updated)
    assert done["status"] == {
        "observedGeneration": 2,
        "currentNumberScheduled": len(nodes),
        "desiredNumberScheduled": len(nodes),
        "numberMisscheduled": 0,
        "numberReady": len(nodes),
        "updatedNumberScheduled": len(nodes),
        "numberAvailable": len(nodes),
    }
    pods = await here.running(len(nodes), app="agent")
    assert {image_of(pod) for pod in pods} == {"nginx:2"}
    revisions = {entry["revision"]: labels_of(entry)[POD_REVISION] for entry in await here.all(CONTROLLER_REVISIONS)}
    assert set(revisions) == {1, 2}
    assert {labels_of(pod)[POD_REVISION] for pod in pods} == {revisions[2]}
    assert {labels_of(pod)["pod-template-generation"] for pod in pods} == {"2"}


async def a_surging_daemon_is_never_away(here: Stage) -> None:
    nodes = len((await here.client.list(NODES)).items)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await daemon_set(here, updateStrategy=rolling)
    await here.running(nodes, app="agent")
    await here.set_image(DAEMON_SETS, "agent", "nginx:2")
    least = nodes

    def updated(pods):
        nonlocal least
        staying = [pod for pod in pods.values() if not pod["metadata"].get("deletionTimestamp")]
        ready = [pod for pod in staying if "Ready" in true_conditions(pod)]
        least = min(least, len({pod["spec"].get("nodeName") for pod in ready}))
        return len(ready) == len(staying) == nodes and {image_of(pod) for pod in staying} == {"nginx:2"}

    await here.until_all(PODS, updated)
    assert least == nodes


async def a_daemon_keeps_to_the_nodes_that_it_selects(here: Stage) -> None:
    node = name_of((await here.client.list(NODES)).items[0])
    await here.client.patch(NODES, node, {"metadata": {"labels": {"disk": "fast"}}})
    try:
        await daemon_set(here, template=template("agent", nodeSelector={"disk": "fast"}))
        [pod] = await here.running(1, app="agent")
        assert pod["spec"]["nodeName"] == node
        await here.client.patch(NODES, node, {"metadata": {"labels": {"disk": "slow"}}})
        await here.until_gone(PODS, name_of(pod))
        done = await here.until(DAEMON_SETS, "agent", lambda one: one["status"]["desiredNumberScheduled"] == 0)
        assert done["status"]["currentNumberScheduled"] == 0
    finally:
        await here.client.patch(NODES, node, {"metadata": {"labels": {"disk": None}}})


async def an_autoscaler_brings_its_target_within_its_bounds(here: Stage) -> None:
    await deployment(here, 3)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    await here.create(AUTOSCALERS, "web", {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2})
    await here.available("web", 2)
    done = await here.until(AUTOSCALERS, "web", true_conditions)
    assert true_conditions(done) == {"AbleToScale": "SucceededRescale"}
    assert (done["status"]["currentReplicas"], done["status"]["desiredReplicas"]) == (3, 2)
    reason = "Current number of replicas above Spec.MaxReplicas"
    await told_of(here, "SuccessfulRescale", f"New size: 2; reason: {reason}")


SCENARIOS = (
    a_deployment_rolls_out_goes_back_and_scales,
    deleting_in_the_background_takes_everything,
    deleting_in_the_foreground_keeps_the_owner_until_all_else_is_gone,
    deleting_without_dependents_leaves_orphans_that_are_taken_over,
    a_drain_evicts_as_fast_as_the_budget_allows,
    a_budget_of_a_number_counts_the_pods_that_there_are,
    a_replication_controller_keeps_its_number,
    a_stateful_set_grows_and_shrinks_in_order,
    a_partition_holds_a_rollout_back,
    on_delete_waits_for_somebody_to_delete,
    claims_come_with_ordinals_and_go_as_the_policy_says,
    a_daemon_runs_once_on_every_node_and_is_replaced_node_by_node,
    a_surging_daemon_is_never_away,
    a_daemon_keeps_to_the_nodes_that_it_selects,
    an_autoscaler_brings_its_target_within_its_bounds,
)
