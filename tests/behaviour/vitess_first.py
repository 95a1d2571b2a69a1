"""The first Vitess operator as its guide has people install it, typed word by word, and one edit at its top."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kubernetes.real import wait_until
from tests.kubernetes.real.ports import free_port

FOLDER = Path(__file__).parents[2] / "examples" / "vitess" / "first"
# The guide's own commands.
CREATE_HOOKS = "kubectl create configmap vitess-operator-hooks -n metacontroller --from-file=hooks"
APPLY_OPERATOR = "kubectl apply -f vitess-operator.yaml"
APPLY_CLUSTER = "kubectl apply -f my-vitess.yaml"
IS_READY = (
    "kubectl get vitessclusters -o "
    "'custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type==\"Ready\")].status'"
)
PAGE = "/api/v1/namespaces/default/services/vitess-global-vtctld:web/proxy/app/"

# What the operator writes in a cluster, as `hanse doors enable composites` is told of it.
DOOR_KINDS = (
    "vitessclusters.vitess.io,vitesscells.vitess.io,vitesskeyspaces.vitess.io,vitessshards.vitess.io,"
    "etcdclusters.etcd.database.coreos.com,"
    "services,configmaps,pods,persistentvolumeclaims,deployments.apps,jobs.batch"
)

SECONDS = 180.0
OLD, NEW = "vitess/lite:v2.2", "vitess/lite:v2.3"
# In the order in which changes reach them: the rdonly tablet of a shard is the first.
TABLETS = [
    f"vitess-vttablet-zone1-{uid}"
    for uid in (
        *("1327744200", "0214747900", "0214747901"),
        *("1007420500", "1213596500", "1213596501"),
        *("1617183000", "1617183001"),
    )
]


@dataclass(frozen=True)
class Shell:
    """Somebody's terminal in the folder of the example."""

    kubectl: Path
    kubeconfig: Path
    home: Path

    @property
    def _environment(self) -> dict[str, str]:
        path = f"{self.kubectl.parent}:{os.environ['PATH']}"
        return {"HOME": str(self.home), "PATH": path, "KUBECONFIG": str(self.kubeconfig)}

    def type(self, command: str) -> str:
        """Type a command and return what it prints; it must succeed."""
        words = shlex.split(command)
        done = subprocess.run(
            words, cwd=FOLDER, env=self._environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def get(self, what: str) -> Any:
        return json.loads(self.type(f"kubectl get {what} -o json"))

    @contextmanager
    def proxy(self) -> Iterator[str]:
        """Have `kubectl proxy` run, and yield its address."""
        port = free_port()
        words = ["kubectl", "proxy", f"--port={port}"]
        process = subprocess.Popen(words, cwd=FOLDER, env=self._environment, stdout=subprocess.DEVNULL)
        try:
            yield f"http://localhost:{port}"
        finally:
            process.terminate()
            process.wait(timeout=20)


def the_guides_commands_bring_a_cluster_up(shell: Shell) -> None:
    """Three commands, and the guide's fourth says that all of it is ready."""
    shell.type(CREATE_HOOKS)
    shell.type(APPLY_OPERATOR)
    # Kinds are served a moment after they are defined, which people do not notice.
    wait_until(lambda: _are_served(shell), seconds=SECONDS, what="the kinds of the operator")
    shell.type(APPLY_CLUSTER)
    wait_until(lambda: _ready(shell), seconds=SECONDS, what="`vitess True`")

    cells = [cell["metadata"]["name"] for cell in shell.get("vtc")["items"]]
    assert cells == ["vitess-global", "vitess-zone1"]
    shards = [shard["metadata"]["name"] for shard in shell.get("vts")["items"]]
    assert shards == ["vitess-zone1-lookup-0", "vitess-zone1-main-80-x", "vitess-zone1-main-x-80"]
    pods = shell.get("pods -l vitess.io/component=vttablet")["items"]
    assert sorted(pod["metadata"]["name"] for pod in pods) == sorted(TABLETS)
    (etcd,) = shell.get("etcdclusters")["items"]
    assert etcd["status"]["serviceName"] == "vitess-global-etcd-client"
    columns = shell.type("kubectl get vt").splitlines()[0].split()
    assert columns == ["NAME", "CELLS", "READY", "UPDATED", "AGE"]


def the_dashboard_shows_a_page(shell: Shell) -> None:
    """What the guide says to visit answers through `kubectl proxy`."""
    with shell.proxy() as address:

        def page() -> str:
            try:
                with urllib.request.urlopen(f"{address}{PAGE}", timeout=10) as answer:
                    return str(answer.read().decode())
            except OSError:
                return ""

        wait_until(lambda: page() != "", seconds=SECONDS, what="a page of vtctld")
        told = page()
    assert "pod: vitess-global-vtctld-" in told
    assert "path: /app/" in told


def one_edit_rolls_through_all_of_it(shell: Shell) -> None:
    """Another image at the top reaches every tablet in order, and no two of a shard at once."""
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in _tablets(shell)}
    spec = shell.get("vt vitess")["spec"]
    patch = json.dumps({"spec": json.loads(json.dumps(spec).replace(OLD, NEW))})
    shell.type(f"kubectl patch vt vitess --type=merge -p {shlex.quote(patch)}")
    wait_until(lambda: _rolled(shell), seconds=2 * SECONDS, what="the new image everywhere")
    wait_until(lambda: _ready(shell), seconds=SECONDS, what="`vitess True` again")

    after = {pod["metadata"]["name"]: pod for pod in _tablets(shell)}
    assert all(after[name]["metadata"]["uid"] != uid for name, uid in before.items())
    made = [after[name]["metadata"]["creationTimestamp"] for name in TABLETS]
    assert made == sorted(made)
    # The Jobs that moved primaries away have gone with their purpose.
    wait_until(lambda: _jobs(shell) == ["vitess-zone1-cell-info"], seconds=SECONDS, what="no Job left over")


def _are_served(shell: Shell) -> bool:
    served = shell.type("kubectl api-resources --cached=false -o name").split()
    return {"vitessclusters.vitess.io", "etcdclusters.etcd.database.coreos.com"} <= set(served)


def _ready(shell: Shell) -> bool:
    lines = [line.split() for line in shell.type(IS_READY).splitlines()]
    return lines == [["NAME", "READY"], ["vitess", "True"]]


def _tablets(shell: Shell) -> list[Any]:
    found: list[Any] = shell.get("pods -l vitess.io/component=vttablet")["items"]
    return found


def _rolled(shell: Shell) -> bool:
    cluster = shell.get("vt vitess")
    updated = {each["type"]: each["status"] for each in cluster["status"]["conditions"]}.get("Updated")
    images = {pod["spec"]["containers"][0]["image"] for pod in _tablets(shell)}
    return images == {NEW} and updated == "True" and len(_tablets(shell)) == len(TABLETS)


def _jobs(shell: Shell) -> list[str]:
    return sorted(job["metadata"]["name"] for job in shell.get("jobs")["items"])
