"""Lambda controllers as people meet them: written by `hanse composite init`, applied by kubectl, seen by `hanse`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

from tests.kubernetes.real import wait_until

SECONDS = 60.0


class Composites(Protocol):
    """What these behaviours need of a federation."""

    def kubectl(self, context: str, *arguments: str, input: str | None = None) -> str: ...  # noqa: A002

    def hanse(self, *arguments: str) -> str: ...


def a_controller_of_the_federation_has_its_children_in_the_clusters(on: Composites, written: Path, member: str) -> None:
    """Python in a ConfigMap of the federation makes a Deployment there, whose copies run in the clusters."""
    _apply(on, "federation", written)
    wait_until(lambda: _status(on, "federation").get("ready") == 2, seconds=SECONDS, what="two ready replicas")
    tree = json.loads(on.hanse("tree", "webapp", "example", "-o", "json"))

    children = {child["name"]: [each["name"] for each in child["children"]] for child in tree["children"]}
    assert sorted(children) == ["Deployment/example", "Service/example"]
    assert f"cluster {member}" in children["Deployment/example"]
    on.kubectl("federation", "patch", "webapp", "example", "--type=merge", "-p", '{"spec":{"image":"nginx:1.30"}}')
    wait_until(
        lambda: _image(on, member) == "nginx:1.30", seconds=SECONDS, what="the new image in a cluster of the federation"
    )
    on.kubectl("federation", "delete", "webapp", "example")
    wait_until(lambda: not _image(on, member), seconds=SECONDS, what="nothing of it in a cluster any more")


def a_controller_of_a_cluster_acts_in_that_cluster(on: Composites, written: Path, member: str) -> None:
    """Jsonnet in a ConfigMap of a cluster whose door is open makes the children there."""
    _apply(on, member, written)
    wait_until(lambda: _status(on, member).get("observedGeneration") == 1, seconds=SECONDS, what="a status")
    wait_until(lambda: _image(on, member) == "nginx:1.29", seconds=SECONDS, what="the child of a parent in a cluster")
    rows = json.loads(on.hanse("composite", "get", "-o", "json"))["items"]

    assert [(row["cluster"], row["ready"], row["parents"]) for row in rows if row["cluster"] == member] == [
        (member, "True", ["webapps.example.com"])
    ]
    # What a hook does not want any more goes, and what somebody changes by hand is set right.
    on.kubectl(member, "scale", "deployment/example", "--replicas=5")
    wait_until(lambda: _replicas(on, member) == 2, seconds=SECONDS, what="the replicas that the hook wants")


def a_closed_door_leaves_everything_as_it_is(on: Composites, member: str, *sign_in: str) -> None:
    """Nobody acts for a cluster whose door is closed, and nothing there is held."""
    on.hanse("doors", "disable", "composites", "--cluster", member, "--yes", *sign_in)
    on.kubectl(member, "scale", "deployment/example", "--replicas=4")
    states = json.loads(on.hanse("doors", "status", "-o", "json"))["items"]

    assert [state["composites"] for state in states if state["cluster"] == member] == [False]
    on.kubectl(member, "delete", "webapp", "example", "--timeout=30s")
    wait_until(lambda: not _image(on, member), seconds=SECONDS, what="children gone with their parent, by the cluster")


def _apply(on: Composites, context: str, written: Path) -> None:
    on.kubectl(context, "apply", "-k", str(written))
    on.kubectl(context, "wait", "--for=condition=Established", "crd/webapps.example.com", "--timeout=60s")
    on.kubectl(context, "apply", "-f", str(written / "parent.yaml"))


def _status(on: Composites, context: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(on.kubectl(context, "get", "webapp", "example", "-o", "json"))
    return found.get("status") or {}


def _image(on: Composites, context: str) -> str:
    path = "{.spec.template.spec.containers[0].image}"
    return on.kubectl(
        context, "get", "deployment", "example", "--ignore-not-found", "-o", f"jsonpath={path}", "-n", "default"
    ).strip()


def _replicas(on: Composites, context: str) -> int:
    return int(on.kubectl(context, "get", "deployment", "example", "-o", "jsonpath={.spec.replicas}"))
