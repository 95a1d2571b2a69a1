"""Real etcd, vtctld, vtctldclient and vtorc on loopback for the tests of Vitess. Gone with their holder."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hanse.api.planetscale.values import LockserverParams
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.etcd import EtcdStores
from tests.kubernetes.real.components import CHECKOUT, components_folder
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.real.waiting import wait_until

ROOT = "/vitess/shop/global"
_NEEDED = ("vtctld", "vtctldclient", "vtorc")
_NOBODY = 65534
_START_SECONDS = 60.0


def vitess_folder() -> Path:
    """Return the folder with Vitess' programs, or skip the test in one line."""
    recipe = CHECKOUT / "components" / "build"
    told = subprocess.run([recipe, "--path", "vitess"], capture_output=True, text=True, check=True)
    folder = Path(told.stdout.strip())
    if missing := [name for name in _NEEDED if not os.access(folder / name, os.X_OK)]:
        pytest.skip(f"{', '.join(missing)} not built: run `make vitess`")
    return folder


@dataclass
class RealVitess:
    """One etcd and the programs of Vitess on it."""

    processes: GuardedProcesses
    folder: Path
    etcd: str
    vtctld_port: int = 0

    @property
    def vtctld(self) -> str:
        """Where vtctld answers."""
        return f"127.0.0.1:{self.vtctld_port}"

    def stores(self) -> EtcdStores:
        """Return new connections to etcd."""
        return EtcdStores(SystemRuntime())

    def topology(self, stores: EtcdStores) -> Topology:
        """Return the topology on some connections."""
        return Topology(stores, LockserverParams("etcd2", self.etcd, ROOT))

    async def client(self, *argv: str, refused: bool = False) -> Any:
        """Run vtctldclient; returns what it prints, parsed where it is JSON, or why it was refused where it must be."""
        process = await asyncio.create_subprocess_exec(
            str(self.folder / "vtctldclient"),
            f"--server={self.vtctld}",
            "--action-timeout=60s",
            *argv,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert (process.returncode != 0) is refused, f"vtctldclient {' '.join(argv)}: {err.decode()}{out.decode()}"
        if refused:
            return err.decode()
        try:
            return json.loads(out)
        except ValueError:
            return out.decode()

    async def queued(self, directory: str, many: int) -> None:
        """Wait until so many hold or want the lock of a directory."""
        argv = ["get", "--prefix", "--keys-only", f"{ROOT}/{directory}/locks/"]
        async with asyncio.timeout(_START_SECONDS):
            while len((await self._etcdctl(*argv)).split()) < many:
                continue

    async def _etcdctl(self, *argv: str) -> str:
        process = await asyncio.create_subprocess_exec(
            str(components_folder() / "etcdctl"), f"--endpoints={self.etcd}", *argv, stdout=asyncio.subprocess.PIPE
        )
        return (await process.communicate())[0].decode()

    def start_vtorc(self, cell: str, watched: str) -> None:
        """Start vtorc, which watches and repairs a shard."""
        self._start(
            "vtorc",
            f"--cell={cell}",
            f"--clusters-to-watch={watched}",
            "--instance-poll-time=1s",
            "--recovery-poll-duration=1s",
            "--topo-information-refresh-duration=2s",
            f"--port={free_port()}",
        )

    def start_vtctld(self) -> None:
        """Start vtctld and wait until it answers."""
        self.vtctld_port = free_port()
        self._start("vtctld", "--service-map=grpc-vtctld", f"--grpc-port={self.vtctld_port}", f"--port={free_port()}")
        wait_until(lambda: _listens(self.vtctld_port), seconds=_START_SECONDS, what="vtctld listens")

    def start_as_in_pod(self, name: str, container: Obj, changed: dict[str, str], env: dict[str, str]) -> str:
        """Start a vtctld with the very flags of a container, but for those changed; returns where it answers."""
        flags = dict(flag.removeprefix("--").split("=", 1) for flag in container["args"])
        port = free_port()
        flags |= {"grpc_port": str(port), "port": str(free_port()), **changed}
        flags |= {"topo_global_server_address": self.etcd, "topo_global_root": ROOT, "bind-address": "127.0.0.1"}
        self._run(name, "vtctld", [f"--{key}={value}" for key, value in sorted(flags.items())], env)
        wait_until(lambda: _listens(port), seconds=_START_SECONDS, what=f"{name} listens")
        return f"127.0.0.1:{port}"

    def log_tail(self, program: str) -> str:
        """Return the last that a program said."""
        return self.processes.log_tail(program, lines=60)

    def _start(self, program: str, *flags: str) -> None:
        """Start a program on this topology."""
        where = [
            "--topo-implementation=etcd2",
            f"--topo-global-server-address={self.etcd}",
            f"--topo-global-root={ROOT}",
            "--bind-address=127.0.0.1",
        ]
        self._run(program, program, [*where, *flags], {})

    def _run(self, name: str, program: str, flags: list[str], env: dict[str, str]) -> None:
        """Start a program as nobody, since those of Vitess refuse to run as root."""
        copied = self.processes.folder / name
        shutil.copy(self.folder / program, copied)
        drop = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        self.processes.start(name, [*drop, str(copied), *flags], {"VTDATAROOT": "/tmp", "HOME": "/tmp", **env})


@contextmanager
def real_vitess() -> Iterator[RealVitess]:
    """Run etcd and vtctld."""
    folder = vitess_folder()
    home = Path(tempfile.mkdtemp(prefix="hanse-vitess-"))
    home.chmod(0o755)
    processes = GuardedProcesses(home)
    try:
        vitess = RealVitess(processes, folder, start_etcd(processes))
        vitess.start_vtctld()
        yield vitess
    finally:
        processes.close()


async def eventually(holds: Callable[[], Awaitable[bool]], *, seconds: float, what: Callable[[], str]) -> None:
    """Return as soon as something holds, while the tablets of this process live on; fails with what is to be said."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():
                await SystemRuntime().sleep(0.1)
    except TimeoutError:
        pytest.fail(what())


def start_etcd(processes: GuardedProcesses, *, fsync: bool = False) -> str:
    """Start etcd and return its address."""
    port, peer = free_port(), f"http://127.0.0.1:{free_port()}"
    client = f"http://127.0.0.1:{port}"
    flags = [
        f"--data-dir={processes.folder}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        *([] if fsync else ["--unsafe-no-fsync"]),
    ]
    processes.start("etcd", [str(components_folder() / "etcd"), *flags])
    wait_until(lambda: _listens(port), seconds=_START_SECONDS, what="etcd listens")
    return f"127.0.0.1:{port}"


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
