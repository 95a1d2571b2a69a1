"""Measures `hanse up` on a data folder that holds a large federation, and adds the result to RESULTS.md.

The folder is made first, unless `--folder` names one that this command made before: `hanse up` with so many clusters
and nodes, one Deployment that is divided over all of them until a pod runs in each, and as many of that pod as asked
for (`bench.scale_cloning`). Then it is started again, and that is measured from outside: time until it says that it is
ready, processor time, memory, and what it takes at rest.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from bench.scale_cloning import clone_pods, count_pods
from bench.scale_records import RESTART, Cells, keep
from hanse.cli.connection import connected
from hanse.cli.embedded.folder import Folder
from hanse.cli.embedded.servers import STORE
from hanse.kube.errors import AlreadyExists
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import DEPLOYMENTS

_HANSE = str(Path(sys.executable).parent / "hanse")
_NAME = "filling"
_LOOK_SECONDS = 0.25
# Status, DNS and checkers follow for some seconds once everything is ready.
_SETTLE_SECONDS = 20.0
_IDLE_SECONDS = 30.0
_LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Size:
    """How large the federation is, counted by cluster."""

    clusters: int
    nodes: int
    pods: int


@dataclass(frozen=True, slots=True)
class Started:
    """What one start took until everything was ready, and then at rest."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    idle_share: float


class Up:
    """A running `hanse up`, seen from outside."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = Folder(folder)
        self._began = time.monotonic()
        self._process = psutil.Popen(
            [_HANSE, "up", "--data-dir", str(folder), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.peak = 0

    def look(self) -> None:
        """Note how much memory it has; ends the bench if it has ended."""
        if self._process.poll() is not None:
            raise SystemExit(f"hanse up has ended; see {self.folder.log}")
        self.peak = max(self.peak, self._process.memory_info().rss)

    @property
    def cpu_seconds(self) -> float:
        """Its processor time so far."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def wait_ready(self) -> float:
        """Wait until it says that it is ready; returns the seconds since its start."""
        while (lasted := time.monotonic() - self._began) < _LONGEST_SECONDS:
            self.look()
            record = self.folder.read()
            if record is not None and record.ready and record.pid == self._process.pid:
                return lasted
            time.sleep(_LOOK_SECONDS)
        raise SystemExit(f"hanse up was not ready within {_LONGEST_SECONDS:g} s")

    def idle_share(self) -> float:
        """Return the part of one core that it takes at rest."""
        self._rest(_SETTLE_SECONDS)
        before, cpu = time.monotonic(), self.cpu_seconds
        self._rest(_IDLE_SECONDS)
        return (self.cpu_seconds - cpu) / (time.monotonic() - before)

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(_LOOK_SECONDS)

    def stop(self) -> None:
        """Stop it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=300)


def fill(folder: Path, size: Size) -> None:
    """Make the data folder: all clusters, and in each as many running pods as asked for."""
    clusters = [{"name": f"c{number:03}", "nodes": size.nodes, "podStartSeconds": 0} for number in range(size.clusters)]
    file = folder / "clusters.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump({"clusters": clusters}))
    up = Up(folder, "--clusters", str(file))
    try:
        up.wait_ready()
        asyncio.run(_run_pods(up, size.clusters))
    finally:
        up.stop()
    if size.pods > 1:
        asyncio.run(_clone(up.folder, size))


async def _clone(folder: Folder, size: Size) -> None:
    await count_pods(folder.server() / STORE, size.clusters * size.pods)
    for name in folder.simulated():
        await clone_pods(folder.server(name) / STORE, size.pods)


async def _run_pods(up: Up, pods: int) -> None:
    endpoint = Kubeconfig.load(up.folder.kubeconfig).endpoint()
    async with connected(endpoint) as host:
        try:
            await host.create(DEPLOYMENTS, _deployment(pods))
        except AlreadyExists:
            pass
        begin = time.monotonic()
        while time.monotonic() - begin < _LONGEST_SECONDS:
            up.look()
            found = await host.get(DEPLOYMENTS, _NAME, "default")
            if dig(found, "status", "availableReplicas") == pods:
                return
            await asyncio.sleep(2.0)
    raise SystemExit(f"not all of {pods} pods ran within {_LONGEST_SECONDS:g} s")


def _deployment(pods: int) -> Obj:
    template = {
        "metadata": {"labels": {"app": _NAME}},
        "spec": {"containers": [{"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "10m"}}}]},
    }
    spec = {"replicas": pods, "selector": {"matchLabels": {"app": _NAME}}, "template": template}
    metadata = {"name": _NAME, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def restart(folder: Path) -> Started:
    """Start `hanse up` on a folder and measure it."""
    up = Up(folder)
    try:
        seconds = up.wait_ready()
        cpu = up.cpu_seconds
        idle = up.idle_share()
        return Started(seconds, cpu, up.peak / 1e6, idle)
    finally:
        up.stop()


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale_restart", description=__doc__)
    add = parser.add_argument
    add("--clusters", type=int, default=100, help="simulated clusters (default: %(default)s)")
    add("--nodes", type=int, default=50, help="nodes of each cluster (default: %(default)s)")
    add("--pods", type=int, default=500, help="running pods of each cluster (default: %(default)s)")
    add("--folder", type=Path, help="make the data here, or use what was made here before (default: a temporary one)")
    add("--dry-run", action="store_true", help="print, and record nothing")
    args = parser.parse_args()
    size = Size(args.clusters, args.nodes, args.pods)
    with tempfile.TemporaryDirectory(prefix="hanse-scale-") as temporary:
        folder = args.folder or Path(temporary)
        if not (folder / "filled").exists():
            fill(folder, size)
            (folder / "filled").touch()
        started = restart(folder)
    cells: Cells = {
        "clusters": size.clusters,
        "nodes": size.nodes,
        "pods": size.pods,
        "seconds": round(started.seconds, 1),
        "cpu_seconds": round(started.cpu_seconds, 1),
        "peak_mb": round(started.peak_mb),
        "idle_percent": round(100 * started.idle_share, 1),
    }
    print(keep(RESTART, cells, record=not args.dry_run))
    return 0


if __name__ == "__main__":
    sys.exit(main())
