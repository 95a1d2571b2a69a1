"""`hanse migrate kubefed` and `hanse controller` on a host that was KubeFed's, and what members had at each moment."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.e2e.federation import HANSE, Refused, run
from tests.kubernetes.kubefed.examples import Obj, named
from tests.kubernetes.kubefed.member_objects import normalised
from tests.kubernetes.kubefed.reading import MEMBER_PATHS, POD_PATH, read_objects
from tests.kubernetes.real import RealCluster
from tests.kubernetes.real.components import CHECKOUT


class Hanse:
    """Hanse on a host, as a person starts it there."""

    def __init__(self, host: RealCluster) -> None:
        self._host = host
        self._controller: subprocess.Popen[bytes] | None = None

    def migrate(self, *options: str) -> Obj:
        """Run `hanse migrate kubefed`; returns its report. Raises Refused."""
        told: Obj = json.loads(self._run("migrate", "kubefed", "-o", "json", *options))
        return told

    def refusal(self, *options: str) -> str:
        """Return what `hanse migrate kubefed` says where it refuses."""
        try:
            self.migrate(*options)
        except Refused as error:
            return str(error)
        return ""

    def start(self) -> None:
        """Start the control plane."""
        with (self._host.folder / "hanse-controller.log").open("ab") as log:
            command = [*HANSE, "controller", "--kubeconfig", str(self._host.kubeconfig)]
            self._controller = subprocess.Popen(command, stderr=log, cwd=CHECKOUT)

    def stop(self) -> None:
        """Stop the control plane, if it runs."""
        if self._controller is not None:
            self._controller.terminate()
            self._controller.wait(timeout=30)
            self._controller = None

    def _run(self, *words: str) -> str:
        return run([*HANSE, *words, "--host-kubeconfig", str(self._host.kubeconfig)], home=self._host.folder)


def everything(members: dict[str, RealCluster]) -> dict[str, Obj]:
    """Return what members have of their users' objects, pods and ReplicaSets included, by cluster, kind and name."""
    found = {}
    for cluster, member in members.items():
        for obj in read_objects(member, (*MEMBER_PATHS, POD_PATH)):
            if not _is_the_clusters(obj):
                found[f"{cluster} {obj['kind']} {named(obj)}"] = _seen(obj)
    return found


def _seen(obj: Obj) -> Obj:
    containers: list[dict[str, Any]] = (obj.get("status") or {}).get("containerStatuses") or []
    return {
        "uid": obj["metadata"]["uid"],
        "generation": obj["metadata"].get("generation", 0),
        "restarts": sum(each.get("restartCount", 0) for each in containers),
        "content": normalised(obj),
    }


def _is_the_clusters(obj: Obj) -> bool:
    """Tell whether an object is a cluster's own, of which no federation speaks."""
    metadata = obj["metadata"]
    if obj["kind"] == "ClusterRole":
        return "kubefed.io/managed" not in metadata.get("labels", {})
    return bool(metadata.get("namespace", metadata["name"]).startswith("kube-"))
