"""The real helm installs, upgrades, rolls back and uninstalls an ordinary chart on a served instance."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.component.apiserver.real_tools import built, served

pytestmark = pytest.mark.kubernetes

CHART = Path(__file__).parent / "chart"
OBJECTS = ["configmap/web-greeting", "serviceaccount/web", "service/web", "deployment/web", "ingress/web", "pdb/web"]


class Helm:
    """helm and kubectl with one kubeconfig and a home of their own."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig"), "HOME": str(home)}
        self._helm, self._kubectl = built("helm", "helm"), built("kubernetes", "kubectl")

    def result(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(self._helm, *arguments, "--namespace", "shop")

    def __call__(self, *arguments: str) -> str:
        done = self.result(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def releases(self) -> list[Any]:
        found: list[Any] = json.loads(self("list", "--all", "--output", "json"))
        return found

    def get(self, *arguments: str) -> str:
        done = self._run(self._kubectl, "get", *arguments, "--namespace", "shop")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=self._environment, check=False)


@pytest.fixture
def helm(tmp_path: Path) -> Iterator[Helm]:
    folder, home = tmp_path / "served", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    with served(folder):
        yield Helm(folder, home)


def test_a_chart_is_installed_upgraded_rolled_back_and_uninstalled(helm: Helm) -> None:
    assert "STATUS: deployed" in helm("install", "web", str(CHART), "--create-namespace")
    assert len(helm.get(*OBJECTS, "-o", "name").split()) == len(OBJECTS)
    assert helm.get("deployment/web", "-o", "jsonpath={.spec.replicas}") == "2"

    helm("upgrade", "web", str(CHART), "--set", "replicas=5", "--set", "greeting=bye")
    assert helm.get("deployment/web", "-o", "jsonpath={.spec.replicas}") == "5"
    assert helm.get("configmap/web-greeting", "-o", "jsonpath={.data.greeting}") == "bye"

    helm("rollback", "web", "1")
    assert helm.get("deployment/web", "-o", "jsonpath={.spec.replicas}") == "2"
    assert [one["revision"] for one in json.loads(helm("history", "web", "--output", "json"))] == [1, 2, 3]
    assert [(one["name"], one["revision"], one["status"]) for one in helm.releases()] == [("web", "3", "deployed")]

    helm("uninstall", "web", "--wait")
    assert helm.releases() == []
    assert helm.get("configmaps,services,deployments,ingresses,secrets", "-o", "name").split() == [
        "configmap/kube-root-ca.crt"
    ]


def test_a_release_that_is_there_is_not_installed_twice(helm: Helm) -> None:
    helm("install", "web", str(CHART), "--create-namespace")
    assert "cannot re-use a name that is still in use" in helm.result("install", "web", str(CHART)).stderr


def test_a_value_that_the_server_refuses_fails_the_release_with_the_servers_words(helm: Helm) -> None:
    refused = helm.result("install", "web", str(CHART), "--create-namespace", "--set", "replicas=-1")
    assert refused.returncode != 0
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in refused.stderr


def test_server_side_dry_run_and_diffless_upgrade_leave_everything_as_it_was(helm: Helm) -> None:
    helm("install", "web", str(CHART), "--create-namespace")
    before = helm.get("deployment/web", "-o", "jsonpath={.metadata.generation}")
    helm("upgrade", "web", str(CHART), "--dry-run=server", "--set", "replicas=7")
    helm("upgrade", "web", str(CHART))
    assert helm.get("deployment/web", "-o", "jsonpath={.metadata.generation}") == before
