"""The real CoreDNS in front of a real cluster, as a test asks it."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kubernetes.real import RealCluster, wait_until
from tests.kubernetes.real.components import CHECKOUT

PATIENCE_SECONDS = 60.0


def find_coredns() -> Path:
    """Return the CoreDNS that was built; the test is skipped where there is none."""
    recipe = CHECKOUT / "components" / "build"
    found = subprocess.run([recipe, "--path", "coredns"], capture_output=True, text=True, check=False)
    binary = Path(found.stdout.strip() or "/nowhere") / "coredns"
    if not os.access(binary, os.X_OK):
        pytest.skip("CoreDNS is not built: run `make kubernetes`")
    return binary


@dataclass(frozen=True, slots=True)
class CoreDns:
    """A running CoreDNS that accompanies a cluster."""

    port: int

    async def ask(self, name: str, kind: str = "A") -> tuple[str, list[tuple[str, str, str]]]:
        """Ask the real dig; returns the status, and of each answer its name, type and value."""
        argv = ["dig", "@127.0.0.1", "-p", str(self.port), f"{name}.", kind, "+noall", "+comments", "+answer"]
        dig = await asyncio.create_subprocess_exec(
            *argv, "+tries=3", "+time=5", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        text = (await dig.communicate())[0].decode()
        status = text.partition("status: ")[2].partition(",")[0]
        answers = [line.split(maxsplit=4) for line in text.splitlines() if line and not line.startswith(";")]
        return status, [(each[0].rstrip("."), each[3], each[4].rstrip(".")) for each in answers]

    async def until(self, name: str, wanted: list[tuple[str, str]], kind: str = "A") -> None:
        """Wait until the answers have these types and values."""
        status, found = "", list[tuple[str, str, str]]()
        for _ in range(int(PATIENCE_SECONDS / 0.2)):
            status, found = await self.ask(name, kind)
            if [each[1:] for each in found] == wanted:
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"{name}: {status} {found}")


def start_coredns(cluster: RealCluster, corefile: str, port: int) -> CoreDns:
    """Start CoreDNS with a Corefile and return when it answers."""
    path = cluster.folder / "Corefile"
    path.write_text(corefile)
    cluster.run("coredns", [str(find_coredns()), "-conf", str(path)])

    def answers() -> bool:
        if cluster.processes.exit_code("coredns") is not None:
            raise AssertionError(f"CoreDNS ended:\n{cluster.processes.log_tail('coredns')}")
        argv = ["dig", "@127.0.0.1", "-p", str(port), "kubernetes.default.svc.cluster.local.", "+short"]
        asked = subprocess.run([*argv, "+tries=1", "+time=1"], capture_output=True, text=True, check=False)
        return asked.returncode == 0 and asked.stdout.strip() != ""

    wait_until(answers, seconds=PATIENCE_SECONDS, what="CoreDNS answers")
    return CoreDns(port)
