"""The files of a new lambda controller, which work as they are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What a new controller is called: itself, its kind, and where its code is kept in the cluster."""

    name: str
    kind: str
    group: str
    namespace: str = "default"

    @property
    def plural(self) -> str:
        """The plural of the kind, as paths have it."""
        word = self.kind.lower()
        return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"

    def files(self, language: str) -> dict[str, str]:
        """Return the texts of all files by their names; `language` is python or jsonnet."""
        code = {"python": "hook.py", "jsonnet": "hook.jsonnet"}[language]
        words = {
            "name": self.name,
            "kind": self.kind,
            "singular": self.kind.lower(),
            "plural": self.plural,
            "group": self.group,
            "namespace": self.namespace,
            "language": language,
            "code": code,
        }
        texts = {**_COMMON, **(_PYTHON if language == "python" else _JSONNET)}
        return {path: Template(text).substitute(words) for path, text in texts.items()}


_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: $plural.$group
spec:
  group: $group
  scope: Namespaced
  names: {plural: $plural, singular: $singular, kind: $kind, listKind: ${kind}List}
  versions:
    - name: v1
      served: true
      storage: true
      # Without it nobody could tell a change of the status from one of the object.
      subresources: {status: {}}
      additionalPrinterColumns:
        - {name: Image, type: string, jsonPath: .spec.image}
        - {name: Ready, type: integer, jsonPath: .status.ready}
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [image]
              properties:
                image: {type: string}
                replicas: {type: integer, minimum: 0, default: 1}
                port: {type: integer, minimum: 1, maximum: 65535, default: 80}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
"""

_CONTROLLER = """\
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata:
  name: $name
spec:
  # Children are known by a label with the parent's uid, so that parents need no selector.
  generateSelector: true
  parentResource: {apiVersion: $group/v1, resource: $plural}
  childResources:
    - {apiVersion: apps/v1, resource: deployments, updateStrategy: {method: InPlace}}
    - {apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}
  hooks:
    sync:
      $language:
        # kustomization.yaml makes it of $code; `hanse composite test` and `run` take the file itself.
        configMap: {name: $name-hook, namespace: $namespace, key: $code}
"""

_PARENT = """\
apiVersion: $group/v1
kind: $kind
metadata:
  name: example
  namespace: $namespace
spec:
  image: nginx:1.29
  replicas: 2
"""

_KUSTOMIZATION = """\
# kubectl apply -k . installs the controller; kubectl apply -f parent.yaml gives it something to do.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [crd.yaml, controller.yaml]
configMapGenerator:
  - {name: $name-hook, namespace: $namespace, files: [$code]}
# The controller names the ConfigMap, and hears of its changes by itself.
generatorOptions: {disableNameSuffixHash: true}
"""

_HOOK_PY = '''\
"""What a $kind is made of: a Deployment and the Service in front of it."""


def sync(request):
    """Return the children that shall exist and the status, whatever exists now."""
    parent = request["parent"]
    name, spec = parent["metadata"]["name"], parent["spec"]
    labels = {"app": name}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": spec.get("replicas", 1),
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": spec["image"]}]},
            },
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": labels, "ports": [{"port": spec.get("port", 80)}]},
    }
    return {"children": [deployment, service], "status": {"ready": _ready(request["children"], name)}}


def _ready(children, name):
    observed = children["Deployment.apps/v1"].get(name, {})
    return observed.get("status", {}).get("readyReplicas", 0)
'''

_TEST_PY = '''\
"""The hook is a plain function: `pytest` in this folder tries it without any cluster."""

from hook import sync

PARENT = {"metadata": {"name": "example"}, "spec": {"image": "nginx:1.29", "replicas": 2}}


def asked(parent=PARENT, deployments=None):
    return sync({"parent": parent, "children": {"Deployment.apps/v1": deployments or {}, "Service.v1": {}}})


def test_a_parent_has_a_deployment_of_its_image_and_a_service():
    deployment, service = asked()["children"]

    assert deployment["spec"]["replicas"] == 2
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.29"
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]


def test_what_is_ready_is_what_the_deployment_says():
    assert asked()["status"] == {"ready": 0}
    assert asked(deployments={"example": {"status": {"readyReplicas": 2}}})["status"] == {"ready": 2}
'''

_HOOK_JSONNET = """\
// What a $kind is made of: a Deployment and the Service in front of it.
function(request)
  local parent = request.parent;
  local name = parent.metadata.name;
  local labels = { app: name };
  local observed = std.get(request.children['Deployment.apps/v1'], name, {});
  {
    children: [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: name },
        spec: {
          replicas: std.get(parent.spec, 'replicas', 1),
          selector: { matchLabels: labels },
          template: {
            metadata: { labels: labels },
            spec: { containers: [{ name: 'main', image: parent.spec.image }] },
          },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: name },
        spec: { selector: labels, ports: [{ port: std.get(parent.spec, 'port', 80) }] },
      },
    ],
    status: { ready: std.get(std.get(observed, 'status', {}), 'readyReplicas', 0) },
  }
"""

_TEST_SH = """\
#!/bin/sh
# Tries the hook without any cluster, and fails if its answer could not be carried out.
cd "$$(dirname "$$0")" && exec hanse composite test -f . --parent parent.yaml
"""

_COMMON = {
    "crd.yaml": _CRD,
    "controller.yaml": _CONTROLLER,
    "kustomization.yaml": _KUSTOMIZATION,
    "parent.yaml": _PARENT,
}
_PYTHON = {"hook.py": _HOOK_PY, "test_hook.py": _TEST_PY}
_JSONNET = {"hook.jsonnet": _HOOK_JSONNET, "test.sh": _TEST_SH}
