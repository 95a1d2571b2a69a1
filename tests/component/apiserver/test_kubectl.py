"""Unmodified kubectl against a served instance: the built one, PATH's, and one two minor versions older."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.component.apiserver.real_tools import built, is_there, served

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "nginx:1.27"}]}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer, description: How big the widget is.}}
"""
WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {size: 3}
"""


def kubectls() -> list[object]:
    """Return every kubectl that can be found, and the older one that the tests on real components have built.

    `make test` takes the first of them: a second one is worth half a minute only where the real components run.
    """
    candidates = {"built": built("kubernetes", "kubectl"), "path": shutil.which("kubectl") or ""}
    found = [(name, binary) for name, binary in candidates.items() if is_there(binary)]
    others = [*found[1:], ("older", built("kubectl-older", "kubectl"))]
    return [
        *(pytest.param(binary, id=name) for name, binary in found[:1]),
        *(pytest.param(binary, id=name, marks=pytest.mark.kubernetes) for name, binary in others),
    ]


class Kubectl:
    """kubectl with a kubeconfig and a namespace of its own."""

    def __init__(self, binary: str, folder: Path, cache: Path) -> None:
        self._command = [binary, "--kubeconfig", str(folder / "kubeconfig"), "--cache-dir", str(cache)]

    def result(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "KUBE_EDITOR": "sed -i s/replicas:.2/replicas:\\ 6/"}
        command = [*self._command, *arguments]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=30, env=environment, check=False
        )

    def __call__(self, *arguments: str, text: str = "") -> str:
        done = self.result(*arguments, text=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self._command, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with served(tmp_path_factory.mktemp("served")) as folder:
        yield folder


@pytest.fixture(params=kubectls())
def kubectl(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Iterator[Kubectl]:
    found = Kubectl(request.param, folder, tmp_path)
    found("create", "namespace", "test")
    found("config", "set-context", "--current", "--namespace", "test")
    yield found
    found("delete", "namespace", "test", "--wait")
    found("delete", "crd", "widgets.example.com", "--ignore-not-found")


def test_typed_create_commands_travel_as_protobuf(kubectl: Kubectl) -> None:
    assert kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3") == "deployment.apps/web created\n"
    kubectl("create", "configmap", "c", "--from-literal=a=1")
    kubectl("create", "secret", "generic", "s", "--from-literal=a=1")
    kubectl("expose", "deployment", "web", "--port=80")
    kubectl("run", "p", "--image=nginx")
    wanted = ["deployment.apps/web", "configmap/c", "secret/s", "service/web", "pod/p"]
    assert kubectl("get", *wanted, "-o", "name").split() == wanted
    assert kubectl("get", "secret", "s", "-o", "jsonpath={.data.a}") == "MQ=="


def test_client_side_apply_creates_configures_and_is_then_silent(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", text=DEPLOYMENT) == "deployment.apps/web created\n"
    assert kubectl("apply", "-f", "-", text=DEPLOYMENT) == "deployment.apps/web unchanged\n"
    assert kubectl.result("diff", "-f", "-", text=DEPLOYMENT).returncode == 0
    changed = DEPLOYMENT.replace("replicas: 2", "replicas: 4")
    differs = kubectl.result("diff", "-f", "-", text=changed)
    assert differs.returncode == 1
    assert "+  replicas: 4" in differs.stdout
    assert kubectl("apply", "-f", "-", text=changed) == "deployment.apps/web configured\n"


def test_a_list_is_applied_like_what_is_in_it(kubectl: Kubectl) -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [_config("first"), _config("second")]})
    assert kubectl("apply", "-f", "-", text=listed) == "configmap/first created\nconfigmap/second created\n"
    assert kubectl("apply", "-f", "-", text=listed) == "configmap/first unchanged\nconfigmap/second unchanged\n"


def _config(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def test_server_side_apply_reports_conflicts_and_can_force(kubectl: Kubectl) -> None:
    assert kubectl("apply", "--server-side", "-f", "-", text=DEPLOYMENT) == "deployment.apps/web serverside-applied\n"
    kubectl("scale", "deploy/web", "--replicas=5")
    refused = kubectl.result("apply", "--server-side", "-f", "-", text=DEPLOYMENT)
    assert "conflict with" in refused.stderr
    assert ".spec.replicas" in refused.stderr
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=DEPLOYMENT)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "2"


def test_unknown_fields_are_refused_by_the_server(kubectl: Kubectl) -> None:
    refused = kubectl.result("apply", "-f", "-", text=DEPLOYMENT.replace("replicas: 2", "replicsa: 2"))
    assert 'unknown field "spec.replicsa"' in refused.stderr


def test_objects_are_printed_in_every_form(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    lines = kubectl("get", "deploy", "-o", "wide").splitlines()
    assert lines[0].split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    assert lines[1].split()[:4] == ["web", "0/2", "0", "0"]
    assert json.loads(kubectl("get", "deploy", "web", "-o", "json"))["kind"] == "Deployment"
    assert "kind: Deployment" in kubectl("get", "deploy", "web", "-o", "yaml")
    assert kubectl("get", "deploy", "-o", "custom-columns=N:.metadata.name", "--no-headers") == "web\n"
    described = kubectl("describe", "deploy", "web")
    assert "StrategyType:           RollingUpdate" in described


def test_objects_are_edited_labelled_annotated_scaled_and_patched(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    kubectl("label", "deploy/web", "tier=front")
    kubectl("annotate", "deploy/web", "note=x")
    kubectl("edit", "deploy/web")
    kubectl("set", "image", "deploy/web", "app=nginx:1.28")
    kubectl("patch", "deploy/web", "-p", '{"spec":{"minReadySeconds":3}}')
    found = json.loads(kubectl("get", "deploy", "web", "-o", "json"))
    assert found["metadata"]["labels"] == {"tier": "front"}
    assert found["metadata"]["annotations"]["note"] == "x"
    assert (found["spec"]["replicas"], found["spec"]["minReadySeconds"]) == (6, 3)
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"


def test_watch_wait_and_rollout_follow_what_happens(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    with kubectl.start("get", "deploy", "-w", "--no-headers") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().split()[1] == "0/2"
        counts = {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
        }
        told = {**counts, "conditions": [{"type": "Available", "status": "True", "reason": "x", "message": "y"}]}
        kubectl("patch", "deploy/web", "--subresource=status", "--type=merge", "-p", json.dumps({"status": told}))
        assert watching.stdout.readline().split()[1] == "2/2"
        watching.kill()
    kubectl("wait", "deploy/web", "--for=condition=Available", "--timeout=10s")
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=10s")


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_each_cascade_deletes(kubectl: Kubectl, cascade: str) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    kubectl("delete", "deploy/web", f"--cascade={cascade}", "--wait")
    assert kubectl("get", "deploy", "-o", "name") == ""


def test_kinds_are_listed_and_explained(kubectl: Kubectl) -> None:
    listed = {line.split()[0] for line in kubectl("api-resources", "--no-headers").splitlines()}
    assert {"pods", "deployments", "customresourcedefinitions", "horizontalpodautoscalers"} <= listed
    assert "progressDeadlineSeconds" in kubectl("explain", "deployment.spec")
    assert "FIELDS:" in kubectl("explain", "pod", "--recursive")
    assert "+hanse" in kubectl("version")


def test_custom_kinds_are_used_like_built_in_ones(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=DEFINITION)
    kubectl("wait", "crd/widgets.example.com", "--for=condition=Established", "--timeout=10s")
    kubectl("apply", "-f", "-", text=WIDGET)
    lines = kubectl("get", "wd").splitlines()
    assert [line.split() for line in lines] == [["NAME", "SIZE"], ["w", "3"]]
    assert "How big the widget is." in kubectl("explain", "widget.spec.size")


def test_access_is_asked_and_refused(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert kubectl.result("auth", "can-i", "create", "pods", "--context", "bob").stdout == "no\n"
    assert "admin" in kubectl("auth", "whoami")
    refused = kubectl.result("get", "pods", "--context", "bob", "-n", "test")
    assert 'User "bob" cannot list resource "pods"' in refused.stderr


EVENT = """
apiVersion: v1
kind: Event
metadata: {name: e, namespace: test}
involvedObject: {kind: Deployment, name: web, namespace: test}
reason: Tested
message: It was tested.
type: Normal
count: 3
"""
REVISION = """
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-%(revision)s
  labels: {app: web}
  annotations: {deployment.kubernetes.io/revision: "%(revision)s"}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: %(owner)s, controller: true}]
spec:
  replicas: 0
  selector: {matchLabels: {app: web, pod-template-hash: "%(revision)s"}}
  template:
    metadata: {labels: {app: web, pod-template-hash: "%(revision)s"}}
    spec: {containers: [{name: app, image: "nginx:1.2%(revision)s"}]}
"""


def test_rollouts_are_told_and_undone(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    owner = kubectl("get", "deploy", "web", "-o", "jsonpath={.metadata.uid}")
    for revision in "12":
        kubectl("apply", "-f", "-", text=REVISION % {"revision": revision, "owner": owner})
    assert [line.split()[0] for line in kubectl("rollout", "history", "deploy/web").splitlines()[2:4]] == ["1", "2"]
    kubectl("rollout", "undo", "deploy/web", "--to-revision=1")
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert kubectl("get", "deploy", "web", "-o", image) == "nginx:1.21"


def test_events_are_told_and_missing_metrics_are_said(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", text=EVENT)
    assert "It was tested." in kubectl("events")
    assert "Metrics API not available" in kubectl.result("top", "pods").stderr
    assert "current-context: admin" in kubectl("config", "view")
