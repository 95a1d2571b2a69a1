"""Runs upstream tests against a cluster: a process for each, several side by side, each with its time."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.conformance.choice import extra_seconds, is_serial
from tests.conformance.reports import Outcome, Verdict, outcome_in
from tests.kubernetes.real.components import CHECKOUT, components_folder

# What a process may take beyond the time of its test, to clean up after it.
_GRACE_SECONDS = 60.0


class Suite:
    """The upstream binary, and how its tests are run against one cluster."""

    def __init__(self, kubeconfig: Path, logs: Path, *, seconds: float, side_by_side: int) -> None:
        self._binary = binary()
        self._kubectl = components_folder() / "kubectl"
        self._kubeconfig = kubeconfig
        self._logs = logs
        self._seconds = seconds
        self._side_by_side = side_by_side
        logs.mkdir(parents=True, exist_ok=True)

    def run(self, names: Sequence[str], tell: Callable[[str, Outcome], None]) -> None:
        """Run tests and tell of each as it ends; those that want the cluster to themselves come last, one by one."""
        for workers, serial in ((self._side_by_side, False), (1, True)):
            with ThreadPoolExecutor(workers) as pool:
                playing = {pool.submit(self._play, name): name for name in names if is_serial(name) == serial}
                for done in as_completed(playing):
                    tell(playing[done], done.result())

    def _play(self, name: str) -> Outcome:
        seconds = self._seconds + extra_seconds(name)
        with tempfile.TemporaryDirectory(prefix="hanse-e2e-") as folder:
            log = self._logs / f"{re.sub('[^A-Za-z0-9]+', '-', name).strip('-')[:150]}.log"
            with log.open("wb") as output:
                try:
                    subprocess.run(
                        self._command(name, Path(folder), seconds),
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        cwd=folder,
                        timeout=seconds + _GRACE_SECONDS,
                        check=False,
                        env={"HOME": folder, "PATH": f"{self._kubectl.parent}:/usr/bin:/bin"},
                    )
                except subprocess.TimeoutExpired:
                    return Outcome(Verdict.FAILED, seconds, "did not end in its time")
            reports = list(Path(folder).glob("junit*.xml"))
            if not reports:
                return Outcome(Verdict.FAILED, message=f"no report; see {log}")
            return outcome_in(reports[0].read_text(), name)

    def _command(self, name: str, folder: Path, seconds: float) -> list[str]:
        return [
            str(self._binary),
            f"--kubeconfig={self._kubeconfig}",
            f"--kubectl-path={self._kubectl}",
            "--provider=skeleton",
            f"--ginkgo.focus={re.escape(name)}$",
            f"--ginkgo.timeout={seconds:.0f}s",
            "--ginkgo.grace-period=10s",
            "--ginkgo.no-color",
            f"--report-dir={folder}",
            f"--e2e-output-dir={folder}",
            # Simulated nodes are ready from the start.
            "--allowed-not-ready-nodes=-1",
            "--dump-logs-on-failure=false",
        ]


def binary() -> Path:
    """Return the upstream tests, built where they are missing."""
    built = subprocess.run(
        [CHECKOUT / "components" / "build", "conformance"], stdout=subprocess.PIPE, text=True, check=True
    )
    return Path(built.stdout.strip()) / "e2e.test"


def listing() -> str:
    """Return what the upstream binary prints of its tests."""
    with tempfile.TemporaryDirectory() as folder:
        told = subprocess.run([binary(), "--list-tests"], capture_output=True, text=True, check=True, cwd=folder)
    return told.stdout
