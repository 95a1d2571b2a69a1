"""A VitessCluster in one cluster as people meet it, by kubectl: its objects, a change that waits, what is refused."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Protocol

import pytest
import yaml

from hanse.kube.manifest import Obj, annotations_of, name_of
from hanse.vitess.naming import cluster_service_name
from tests.kubernetes.real import wait_until
from tests.vitess_specs import keyspace, pool, vitess_cluster

SECONDS = 120.0
SCHEDULED = "rollout.planetscale.com/scheduled"
RELEASED = "rollout.planetscale.com/released"
KEYSPACE = "example-commerce-fb9b866a"
SHARD = "example-commerce-x-x-0f5afee6"
# So many looks in a row, each of which takes kubectl a while.
_LOOKS = 20
TABLET = "example-vttablet-zone1-2548885007-46a852d0"


class Kubectl(Protocol):
    """What these behaviours need of a cluster."""

    def kubectl(self, context: str, *arguments: str, input: str | None = None) -> str: ...  # noqa: A002


def small(**tablet: Any) -> Obj:
    """Return a VitessCluster whose only tablet nobody could take over from."""
    return vitess_cluster(keyspaces=[keyspace("commerce", 1, pool(replicas=1, **tablet))])


def a_vitess_cluster_has_all_its_objects_and_pods(on: Kubectl, context: str) -> None:
    """One object is applied; its lockserver, cell, keyspace, shard, tablet and their pods follow, and then rest."""
    apply(on, context, small())
    wait_until(lambda: len(running(on, context)) == 4, seconds=SECONDS, what="three members of etcd and one tablet")
    wait_until(lambda: available(on, context) == 3, seconds=SECONDS, what="vtgate, vtctld and vtorc")
    wait_until(lambda: cell_status(on, context) == "True", seconds=SECONDS, what="a cell whose vtgates serve")
    assert sorted(running(on, context)) == [*(f"example-etcd-faf13de3-{index}" for index in (1, 2, 3)), TABLET]
    shown = on.kubectl(context, "get", "vt,vtc,vtk,vts,etcdls")
    assert "vitesskeyspace.planetscale.com/example-commerce-fb9b866a" in shown
    quota = on.kubectl(context, "get", "pdb", "-o", "jsonpath={.items[*].spec.minAvailable}")
    assert quota == "2"


def a_change_waits_on_every_level_until_it_is_released(on: Kubectl, context: str) -> None:
    """A flag of tablets restarts nothing until the keyspace, the shard and the pod were let go, one after the other."""
    before = uid(on, context)
    apply(on, context, small(vttablet={"extraFlags": {"queryserver-config-pool-size": "7"}}))
    for kind, name in (("vtk", KEYSPACE), ("vts", SHARD), ("pod", TABLET)):
        wait_until(partial(is_scheduled, on, context, kind, name), seconds=SECONDS, what=f"{kind} waits")
        assert "queryserver-config-pool-size" in said_on(on, context, kind, name)[SCHEDULED]
        assert uid(on, context) == before
        on.kubectl(context, "annotate", kind, name, f"{RELEASED}=by hand")
    wait_until(lambda: uid(on, context) not in (before, ""), seconds=SECONDS, what="a new pod for the tablet")
    pod = get(on, context, "pod", TABLET)
    assert "--queryserver-config-pool-size=7" in pod["spec"]["containers"][0]["args"]
    assert SCHEDULED not in annotations_of(pod)
    wait_until(lambda: TABLET in running(on, context), seconds=SECONDS, what="the tablet running again")
    for kind, name in (("vtk", KEYSPACE), ("vts", SHARD)):
        wait_until(partial(is_clear, on, context, kind, name), seconds=SECONDS, what=f"the release of {kind} used up")


def what_cannot_be_meant_is_refused_or_said(on: Kubectl, context: str) -> None:
    """What a schema can tell is refused at once; the rest is said in the status, and nothing is done for it."""
    for wrong, says in (
        (vitess_cluster(cells=[{"name": "us-east"}]), "spec.cells[0].name"),
        (vitess_cluster(keyspaces=[keyspace("a.b")]), "spec.keyspaces[0].name"),
        (vitess_cluster(keyspaces=[keyspace("a", 0)]), "spec.keyspaces[0].partitionings[0].equal.parts"),
        (vitess_cluster(keyspaces=[keyspace("a", 1, pool(replicas=-1))]), "tabletPools[0].replicas"),
    ):
        with pytest.raises(Exception, match=r"(?s)VitessCluster.*invalid") as refused:
            apply(on, context, wrong)
        assert says in str(refused.value)
    unknown = vitess_cluster("other", keyspaces=[keyspace("commerce", 1, pool("zone9"))])
    apply(on, context, unknown)
    wait_until(lambda: "zone9" in why(on, context, "other"), seconds=SECONDS, what="a sentence about the unknown cell")
    assert "spec.keyspaces[0].partitionings[0].equal.shardTemplate.tabletPools[0].cell" in why(on, context, "other")
    assert on.kubectl(context, "get", "vtc", "-l", "planetscale.com/cluster=other", "-o", "name") == ""
    on.kubectl(context, "delete", "vt", "other")


def a_keyspace_with_tablets_is_not_taken_away(on: Kubectl, context: str) -> None:
    """A keyspace that is removed from the spec stays, is said to be an orphan, and is taken back."""
    apply(on, context, vitess_cluster(keyspaces=[]))
    wait_until(
        lambda: "commerce" in (status(on, context).get("orphanedKeyspaces") or {}), seconds=SECONDS, what="an orphan"
    )
    assert status(on, context)["orphanedKeyspaces"]["commerce"]["reason"] == "NotIdle"
    assert TABLET in running(on, context)
    apply(on, context, small(vttablet={"extraFlags": {"queryserver-config-pool-size": "7"}}))
    wait_until(lambda: not status(on, context).get("orphanedKeyspaces"), seconds=SECONDS, what="no orphan any more")


def a_name_that_somebody_else_has_is_left_to_them(on: Kubectl, context: str) -> None:
    """An object of the same name is not touched; an Event says so."""
    taken = vitess_cluster("taken", keyspaces=[])
    theirs: Obj = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": cluster_service_name("taken", "vtgate"),
            "namespace": "default",
            "labels": {"whose": "theirs"},
        },
        "spec": {"ports": [{"port": 80}]},
    }
    name = name_of(theirs)
    on.kubectl(context, "apply", "-f", "-", input=yaml.safe_dump(theirs))
    apply(on, context, taken)
    wait_until(lambda: name in events(on, context, "NameCollision"), seconds=SECONDS, what="an Event NameCollision")
    found = get(on, context, "service", name)
    assert (found["metadata"]["labels"], found["spec"]["ports"][0]["port"]) == ({"whose": "theirs"}, 80)
    on.kubectl(context, "delete", "vt", "taken")
    on.kubectl(context, "delete", "service", name)


def a_cluster_with_tablets_becomes_ready(on: Kubectl, context: str) -> None:
    """Where tablets register, one becomes primary, and the cluster is Ready."""
    apply(on, context, vitess_cluster())
    wait_until(lambda: ready(on, context), seconds=SECONDS, what="a VitessCluster that is Ready")
    shown = get(on, context, "vts", SHARD)["status"]
    assert shown["tablets"][shown["masterAlias"]]["type"] == "primary"


def ready(on: Kubectl, context: str) -> bool:
    columns = "custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type=='Ready')].status"
    return on.kubectl(context, "get", "vt", "-o", columns, "--no-headers").split() == ["example", "True"]


def a_cluster_at_rest_is_not_written(on: Kubectl, context: str) -> None:
    """Nothing that belongs to the cluster has another version after a while."""
    kinds = "vt,vtc,vtk,vts,etcdls,deployments,services,pods,pvc,pdb"

    def versions() -> dict[str, str]:
        found = get(on, context, kinds, "-l", "planetscale.com/cluster=example")["items"]
        found += [each for each in get(on, context, "vt")["items"] if name_of(each) == "example"]
        return {f"{each['kind']} {name_of(each)}": each["metadata"]["resourceVersion"] for each in found}

    seen: list[dict[str, str]] = []

    def rested() -> bool:
        seen.append(versions())
        return len(seen) > _LOOKS and all(each == seen[-1] for each in seen[-_LOOKS:])

    wait_until(rested, seconds=SECONDS, what="many looks in a row that find nothing written")


def apply(on: Kubectl, context: str, obj: Obj) -> None:
    on.kubectl(context, "apply", "-f", "-", input=yaml.safe_dump(obj))


def get(on: Kubectl, context: str, *arguments: str) -> Any:
    return json.loads(on.kubectl(context, "get", *arguments, "-o", "json"))


def running(on: Kubectl, context: str) -> list[str]:
    pods = get(
        on, context, "pods", "-l", "planetscale.com/component in (etcd,vttablet),planetscale.com/cluster=example"
    )
    return [name_of(pod) for pod in pods["items"] if (pod.get("status") or {}).get("phase") == "Running"]


def available(on: Kubectl, context: str) -> int:
    found = get(on, context, "deployments", "-l", "planetscale.com/cluster=example")["items"]
    return sum(bool((each.get("status") or {}).get("availableReplicas")) for each in found)


def cell_status(on: Kubectl, context: str) -> str:
    return str(status(on, context).get("cells", {}).get("zone1", {}).get("gatewayAvailable"))


def status(on: Kubectl, context: str, name: str = "example") -> Obj:
    found: Obj = get(on, context, "vt", name).get("status") or {}
    return found


def why(on: Kubectl, context: str, name: str) -> str:
    return " ".join(each.get("message", "") for each in status(on, context, name).get("conditions") or ())


def said_on(on: Kubectl, context: str, kind: str, name: str) -> dict[str, str]:
    return annotations_of(get(on, context, kind, name))


def is_scheduled(on: Kubectl, context: str, kind: str, name: str) -> bool:
    return SCHEDULED in said_on(on, context, kind, name)


def is_clear(on: Kubectl, context: str, kind: str, name: str) -> bool:
    return not {SCHEDULED, RELEASED} & set(said_on(on, context, kind, name))


def uid(on: Kubectl, context: str) -> str:
    found = on.kubectl(context, "get", "pod", TABLET, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
    return found.strip()


def events(on: Kubectl, context: str, reason: str) -> str:
    path = "jsonpath={.items[*].message}"
    return on.kubectl(context, "get", "events", "--field-selector", f"reason={reason}", "-o", path)
