"""The two servers of the bench, started one after the other, each with the time that it took to be ready."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from hanse.kube.kubeconfig import Endpoint
from tests.kubernetes.real import HOST, RealCluster

_SETTLING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers: where, how long it took, and the processes that are its parts."""

    endpoint: Endpoint
    ready_seconds: float
    processes: tuple[psutil.Process, ...]

    def idle_megabytes(self) -> float:
        """Return the memory of its parts after a rest."""
        time.sleep(_SETTLING_SECONDS)
        return sum(process.memory_info().rss for process in self.processes) / 1e6

    def cpu_seconds(self) -> float:
        """Return the CPU time that its parts have used so far."""
        times = [process.cpu_times() for process in self.processes]
        return sum(one.user + one.system for one in times)


@contextmanager
def real_server() -> Iterator[Running]:
    """Run kube-apiserver on etcd with fsync; its controllers run beside it and are not counted."""
    cluster = RealCluster("bench", replace(HOST, fsync=True))
    authority = (cluster.folder / "ca.crt").read_text()
    started = time.monotonic()
    try:
        with ThreadPoolExecutor(1) as starter:
            starting = starter.submit(cluster.start)
            while not _is_ready(cluster.server, authority) and not starting.done():
                time.sleep(0.02)
            ready = time.monotonic() - started
            starting.result()
        parts = tuple(psutil.Process(cluster.processes.pids[name]) for name in ("etcd", "kube-apiserver"))
        yield Running(Endpoint(cluster.server, ca=authority.encode(), token=cluster.token), ready, parts)
    finally:
        cluster.stop()


@contextmanager
def embedded_server() -> Iterator[Running]:
    """Run the embedded server from nothing, its interpreter's start included."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as bytecode:
        environment = _with_bytecode(bytecode)
        started = time.monotonic()
        command = [sys.executable, "-m", "bench.apiserver_embedded", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert process.stdout is not None
                url, token = process.stdout.readline().split()
                authority = (Path(folder) / "ca.crt").read_text()
                while not _is_ready(url, authority):
                    time.sleep(0.02)
                ready = time.monotonic() - started
                yield Running(Endpoint(url, ca=authority.encode(), token=token), ready, (psutil.Process(process.pid),))
            finally:
                process.kill()


def _with_bytecode(folder: str) -> dict[str, str]:
    """Return an environment in which modules are compiled already, as an installation leaves them."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    loaded = "import bench.apiserver_embedded, hanse.apiserver.http, uvloop"
    subprocess.run([sys.executable, "-c", loaded], env=environment, check=True)
    return environment


def _is_ready(url: str, authority: str) -> bool:
    trusting = ssl.create_default_context(cadata=authority)
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2, context=trusting):
            return True
    except (urllib.error.URLError, OSError):
        return False
