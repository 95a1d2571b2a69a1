"""A composite on the federation whose children are in other clusters, as its author follows them with kubectl."""

from __future__ import annotations

from functools import partial
from textwrap import dedent
from typing import Any

import yaml

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.api.placed_children import PLACED_CHILDREN
from hanse.kube.manifest import dig
from hanse.kube.resources import Resource
from tests.behaviour.federated_kinds import manifest
from tests.e2e.federation import MEMBERS, Federation, get
from tests.kubernetes.real import wait_until
from tests.simulation.composite.stage import parent_crd

PATIENCE_SECONDS = 60.0
# A control plane that begins defines many kinds, these last.
START_SECONDS = 180.0
NAMESPACE = "coast"
HERE = f"--namespace={NAMESPACE}"
LIGHTHOUSES = Resource("elsewhere.example.com", "v1", "lighthouses", "Lighthouse")
HOOK = dedent(
    """
    def sync(request):
        spec, seen = request["parent"]["spec"], request["children"]["ConfigMap.v1"]
        def lamp(where):
            metadata = {"name": "lamp", "labels": {"light": "on"}, "annotations": where}
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"colour": spec["colour"]}}
        wanted = [lamp({"hanse.dev/cluster": name}) for name in spec["in"]] if "in" in spec else [
            lamp({"hanse.dev/clusters": ""})
        ]
        return {"children": wanted, "status": {"lamps": {key: obj["data"]["colour"] for key, obj in seen.items()}}}
    """
)
CONTROLLER: dict[str, Any] = {
    "apiVersion": "metacontroller.k8s.io/v1alpha1",
    "kind": "CompositeController",
    "metadata": {"name": "lighthouses"},
    "spec": {
        "parentResource": {"apiVersion": LIGHTHOUSES.api_version, "resource": LIGHTHOUSES.plural},
        "childResources": [{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}],
        "hooks": {"sync": {"python": {"inline": HOOK}}},
    },
}


def children_are_in_the_clusters_that_their_hook_names(federation: Federation) -> None:
    """Make, change, take back and delete the children of one parent in three clusters."""
    _apply(federation, manifest("v1", "Namespace", NAMESPACE, ""), parent_crd(LIGHTHOUSES))
    for kind in (COMPOSITE_CONTROLLERS, PLACED_CHILDREN, LIGHTHOUSES):
        wait_until(partial(_is_served, federation, kind), seconds=START_SECONDS, what=f"{kind.kind} is served")
    _apply(federation, CONTROLLER, _lighthouse(colour="green"))
    _until_lamps(federation, dict.fromkeys(MEMBERS, "green"))

    _apply(federation, _lighthouse(colour="red", **{"in": list(MEMBERS[:2])}))
    _until_lamps(federation, dict.fromkeys(MEMBERS[:2], "red"))
    wait_until(partial(_is_dark, federation, MEMBERS[2]), seconds=PATIENCE_SECONDS, what="the third lamp is gone")

    federation.kubectl("federation", "delete", "lighthouse", "hansa", HERE)
    for member in MEMBERS:
        wait_until(partial(_is_dark, federation, member), seconds=PATIENCE_SECONDS, what=f"no lamp in {member}")
    wait_until(lambda: not _placed(federation), seconds=PATIENCE_SECONDS, what="no PlacedChild is left")
    federation.kubectl("federation", "delete", "compositecontroller", "lighthouses")


def _apply(federation: Federation, *objects: dict[str, Any]) -> None:
    federation.kubectl("federation", "apply", "--filename=-", input=yaml.safe_dump_all(objects))


def _is_served(federation: Federation, kind: Resource) -> bool:
    served = federation.kubectl("federation", "api-resources", f"--api-group={kind.group}", "--output=name")
    return kind.group_resource in served


def _lighthouse(**spec: Any) -> dict[str, Any]:
    selector = {"selector": {"matchLabels": {"light": "on"}}}
    return manifest(LIGHTHOUSES.api_version, LIGHTHOUSES.kind, "hansa", NAMESPACE, spec=selector | spec)


def _until_lamps(federation: Federation, wanted: dict[str, str]) -> None:
    """Wait until exactly these clusters have lamps of these colours, by what the hook has seen."""
    seen = {f"{member}/lamp": colour for member, colour in wanted.items()}

    def lamps() -> bool:
        return bool(dig(get(federation, "federation", "lighthouse", "hansa", HERE), "status", "lamps") == seen)

    wait_until(lamps, seconds=PATIENCE_SECONDS, what=f"the status tells of lamps in {', '.join(wanted)}")
    for member, colour in wanted.items():
        assert get(federation, member, "configmap", "lamp", HERE)["data"] == {"colour": colour}


def _is_dark(federation: Federation, member: str) -> bool:
    return "lamp" not in federation.kubectl(member, "get", "configmap", HERE, "--output=name", "--selector=light=on")


def _placed(federation: Federation) -> str:
    return federation.kubectl("federation", "get", "placedchildren", HERE, "--output=name")
