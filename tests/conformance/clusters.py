"""The two clusters that are judged, each for the length of a block."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kubernetes.real import MEMBER, RealCluster, wait_until
from tests.kubernetes.real.processes import GuardedProcesses

_START_SECONDS = 60.0
# Which address pools their load balancers take.
_INDEX = 60


@contextmanager
def real_cluster() -> Iterator[Path]:
    """Run a real control plane with simulated nodes; gives its kubeconfig."""
    cluster = RealCluster("real", MEMBER)
    try:
        cluster.start()
        cluster.start_nodes(index=_INDEX, region="eu", zone="eu-1")
        yield cluster.kubeconfig
    finally:
        cluster.stop()


@contextmanager
def embedded_cluster() -> Iterator[Path]:
    """Run a simulated cluster on the embedded API server; gives its kubeconfig."""
    processes = GuardedProcesses(Path(tempfile.mkdtemp(prefix="hanse-embedded-")))
    kubeconfig = processes.folder / "kubeconfig"
    try:
        processes.start("cluster", [sys.executable, "-m", "tests.conformance.simulated", str(processes.folder)])
        wait_until(
            lambda: kubeconfig.exists() or processes.exit_code("cluster") is not None,
            seconds=_START_SECONDS,
            what="the simulated cluster is ready",
        )
        if not kubeconfig.exists():
            raise RuntimeError(f"the simulated cluster did not start:\n{processes.log_tail('cluster')}")
        yield kubeconfig
    finally:
        processes.close()


CLUSTERS = {"real": real_cluster, "embedded": embedded_cluster}
