"""The README's first five minutes, typed as a newcomer would: a copy of this tree, an empty home, `make run`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.kubernetes.real import wait_until
from tests.kubernetes.real.components import find_kubectl

ROOT = Path(__file__).parents[2]
LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__")


class Newcomer:
    """A person with a fresh copy and an empty home."""

    def __init__(self, folder: Path, kubectl: Path) -> None:
        self.tree, self.home = folder / "hanse", folder / "home"
        self.home.mkdir()
        shutil.copytree(ROOT, self.tree, ignore=LEFT_BEHIND)
        self._told = folder / "told"
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HANSE_", "KUBE", "MAKE", "MFLAGS", "VIRTUAL_"))
        }
        path = f"{self.tree}/.venv/bin:{kubectl.parent}:{kept['PATH']}"
        self._environment = kept | {"HOME": str(self.home), "PATH": path}

    @property
    def told(self) -> str:
        """What `make run` has printed."""
        return self._told.read_text()

    def runs(self) -> subprocess.Popen[bytes]:
        """Type `make run`."""
        with self._told.open("wb") as told:
            return subprocess.Popen(
                ["make", "run"],
                cwd=self.tree,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def types(self, *command: str) -> str:
        """Type something in another terminal, with what `make run` said to export."""
        environment = self._environment | {"KUBECONFIG": f"{self.home}/.hanse/kubeconfig"}
        done = subprocess.run(
            command, cwd=self.tree, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    kubectl = find_kubectl()
    assert kubectl is not None, "kubectl is neither built (make kubernetes) nor installed"
    return Newcomer(tmp_path, kubectl)


@pytest.mark.kubernetes
def test_make_run_gives_a_newcomer_a_federation_that_survives_a_lost_cluster(newcomer: Newcomer) -> None:
    process = newcomer.runs()
    try:
        wait_until(
            lambda: "The federation is ready" in newcomer.told or process.poll() is not None,
            seconds=180,
            what="the federation",
        )
        assert process.poll() is None, newcomer.told

        newcomer.types("kubectl", "apply", "-f", "examples/web")
        newcomer.types("kubectl", "-n", "shop", "rollout", "status", "deployment/web", "--timeout=180s")
        table = newcomer.types("hanse", "get", "deployments", "-n", "shop")
        assert [line.split()[2] for line in table.splitlines()[1:]] == ["9/9", "3/3", "3/3", "3/3"]

        newcomer.types("hanse", "cluster", "fail", "eu-west")
        wait_until(lambda: "Offline" in newcomer.types("hanse", "clusters"), seconds=60, what="a lost cluster")
        wait_until(
            lambda: "9 replicas wanted, 9 available" in newcomer.types("hanse", "explain", "deployment", "web"),
            seconds=90,
            what="nine replicas elsewhere",
        )
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(60)
    # make itself says that it was interrupted; what it ran has nothing to complain of.
    assert "run] Interrupt" in newcomer.told
    assert "Traceback" not in newcomer.told
