"""The examples given to a federation on real clusters, whoever runs it, and what comes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kubernetes.kubefed.examples import CLUSTERS, Example, Obj, manifests, named
from tests.kubernetes.kubefed.member_objects import identities, in_namespaces, read_members
from tests.kubernetes.kubefed.reading import FEDERATED_PATHS, PREFERENCE_PATH, VERSION_PATHS, read_objects
from tests.kubernetes.real import RealCluster, wait_until

RECORDED = Path(__file__).parents[2] / "unit" / "federated" / "recorded"
PATIENCE_SECONDS = 120.0
_REMOVAL_SECONDS = 300.0
_PREFERENCES = "replicaschedulingpreferences.scheduling.kubefed.io"
_FINAL_CODES = ("", "ApplyOverridesFailed", "ManagedLabelFalse")
# A Job's template cannot be changed, by whomever.
_REFUSED = ("immutable", "UpdateFailed")


@dataclass(frozen=True, slots=True)
class Left:
    """What examples leave: what each member holds, what federated objects say, and which objects were replaced."""

    members: dict[str, dict[str, Obj]]
    told: dict[str, Obj]
    versions: dict[str, Obj]
    replaced: list[str]

    def of(self, example: Example) -> Obj:
        """Return what one example left, as it is recorded."""
        written = {named(obj) for obj in example.federated}
        names = {name.partition("/")[0] for name in written}
        told = {key: value for key, value in self.told.items() if key.partition(" ")[2] in written}
        versions = {key: _of_synced(value, told[key]) for key, value in self.versions.items() if key in told}
        return {"members": in_namespaces(self.members, names), "told": told, "versions": versions}


class Stage:
    """A host with three members, on which one federation or another acts."""

    def __init__(self, host: RealCluster, members: dict[str, RealCluster], examples: list[Example]) -> None:
        self.host = host
        self.members = members
        self.examples = examples

    def begin(self, settled: Callable[[], bool]) -> dict[str, Obj]:
        """Write every example; `settled` says when to go on. Returns what every object in the members is then."""
        for example in self.examples:
            self._in_two(example.before)
        # What is made before its namespace is there is tried again only after a while.
        self._write([obj for example in self.examples for obj in manifests(example.written) if _is_namespace(obj)])
        self._wait(settled)
        self._write([obj for example in self.examples for obj in manifests(example.written) if not _is_namespace(obj)])
        self._wait(settled)
        self._wait(self._pods_are_ready)
        return identities(read_members(self.members))

    def go_on(self) -> None:
        """Do what happens in members, and write what comes next."""
        for example in self.examples:
            self._in_two(example.members)
        self._write([obj for example in self.examples for obj in manifests(example.then)])

    def left(self, before: dict[str, Obj]) -> Left:
        """Read what there is now; `before` has what every object was."""
        members = read_members(self.members)
        now = identities(members)
        told = {f"{obj['kind']} {named(obj)}": _told(obj) for obj in self.federated()}
        replaced = [key for key, identity in before.items() if now.get(key) != identity]
        return Left(members, told, self._versions(), replaced)

    def federated(self) -> list[Obj]:
        """Return every federated object."""
        return read_objects(self.host, FEDERATED_PATHS)

    def remove(self) -> None:
        """Delete every federated object, and wait until it and its copies are gone."""
        for member in (self.members[name] for name in CLUSTERS[:2]):
            released = '{"metadata":{"finalizers":null}}'
            member.kubectl("patch", "configmap/annotated-inside", "--namespace=retention", "--patch", released)
        contained = sorted(self.federated(), key=lambda obj: obj["kind"] == "FederatedNamespace")
        for last in (False, True):
            chosen = [obj for obj in contained if (obj["kind"] == "FederatedNamespace") is last]
            self.host.kubectl("delete", "--filename=-", "--wait=true", input=_listed(chosen), seconds=_REMOVAL_SECONDS)
        self.host.kubectl("delete", _PREFERENCES, "--all", "--all-namespaces")

    def _versions(self) -> dict[str, Obj]:
        """Return the hashes of what was propagated; those of overrides that a preference wrote are its own."""
        scheduled = {named(obj) for example in self.examples for obj in example.preferences}
        found = {}
        for obj in read_objects(self.host, VERSION_PATHS):
            owner, status = obj["metadata"]["ownerReferences"][0], obj["status"]
            name = named({"metadata": {**obj["metadata"], "name": owner["name"]}})
            kept = ("templateVersion",) if name in scheduled else ("templateVersion", "overridesVersion")
            clusters = [each["clusterName"] for each in status.get("clusterVersions") or []]
            found[f"{owner['kind']} {name}"] = {**{field: status[field] for field in kept}, "clusters": clusters}
        return found

    def _pods_are_ready(self) -> bool:
        """Tell whether every Deployment that is not paused runs."""
        deployments = [
            obj for objects in read_members(self.members).values() for obj in objects.values() if _runs_pods(obj)
        ]
        return all(obj["spec"]["replicas"] == obj["status"].get("readyReplicas", 0) for obj in deployments)

    def _in_two(self, text: str) -> None:
        if text:
            for name in CLUSTERS[:2]:
                applied = ("apply", "--server-side", "--force-conflicts", "--field-manager=somebody", "--filename=-")
                self.members[name].kubectl(*applied, input=text)

    def _write(self, objects: list[Obj]) -> None:
        self.host.kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", input=_listed(objects))

    def _wait(self, settled: Callable[[], bool]) -> None:
        wait_until(settled, seconds=PATIENCE_SECONDS, what="the examples have settled")


def settled(stage: Stage) -> bool:
    """Tell whether every federated object says that nothing more is to be done."""
    return all(_is_settled(obj) for obj in stage.federated())


def settled_in_kubefed(stage: Stage) -> bool:
    """Tell the same of KubeFed, where a preference writes into the object that it speaks for."""
    preferences = read_objects(stage.host, [PREFERENCE_PATH])
    # One that names no federated kind speaks for nothing.
    asked = {named(obj) for obj in preferences if obj["spec"]["targetKind"].startswith("Federated")}
    scheduled = [obj for obj in stage.federated() if named(obj) in asked and obj["kind"] != "FederatedNamespace"]
    return settled(stage) and all(
        _has_replicas(entry) for obj in scheduled for entry in obj["spec"].get("overrides") or [{}]
    )


def _is_settled(obj: Obj) -> bool:
    if (obj.get("status") or {}).get("observedGeneration") != obj["metadata"]["generation"]:
        return False
    return all(_is_final(obj, code) for code in _told(obj)["clusters"].values())


def _of_synced(version: Obj, told: Obj) -> Obj:
    """Return what is written down of the clusters that are in sync: what the others have, nobody vouches for."""
    return {**version, "clusters": [name for name in version["clusters"] if not told["clusters"].get(name)]}


def _has_replicas(entry: Obj) -> bool:
    return any(change.get("path") == "/spec/replicas" for change in entry.get("clusterOverrides") or [])


def _is_final(obj: Obj, code: str) -> bool:
    return code in _FINAL_CODES or (obj["metadata"]["name"], code) == _REFUSED


def _told(obj: Obj) -> Obj:
    status: Obj = obj.get("status") or {}
    conditions: list[Obj] = status.get("conditions") or []
    said = [[each["status"], each.get("reason", "")] for each in conditions if each["type"] == "Propagation"]
    codes = {each["name"]: each.get("status", "") for each in status.get("clusters") or []}
    return {"propagation": said[0] if said else [], "clusters": dict(sorted(codes.items()))}


def _runs_pods(obj: Obj) -> bool:
    return obj["kind"] == "Deployment" and not obj["spec"].get("paused")


def _is_namespace(obj: Obj) -> bool:
    return obj["kind"] in ("Namespace", "FederatedNamespace")


def _listed(objects: list[Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
