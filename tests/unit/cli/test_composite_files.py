"""Lambda controllers out of files: YAML, folders, and Python files that say what they control."""

import pytest

from hanse.cli.composite_files import KnownKinds, LocalObjects, read_local
from hanse.cli.failures import Misuse
from hanse.composite.spec import KindRef, PythonSpec, Sort
from hanse.kube.resources import DEPLOYMENTS, Resource

CONTROLLER = """
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: cats}
spec:
  parentResource: {apiVersion: example.com/v1, resource: cats}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {python: {%s}}}
"""
IN_PYTHON = """
from hanse.composite.lambdas import hook

CONTROLLER = {
    "apiVersion": "metacontroller.k8s.io/v1alpha1",
    "kind": "CompositeController",
    "metadata": {"name": "cats"},
    "spec": {
        "parentResource": {"apiVersion": "example.com/v1", "resource": "cats"},
        "childResources": [{"apiVersion": "v1", "resource": "configmaps"}],
        "hooks": {"finalize": {"version": "v2"}},
    },
}

raise SystemExit("nobody runs this to read it")

def sync(request): ...

@hook("finalize")
def bury(request): ...

def helper(): ...
"""


def source_of(spec, hook="sync"):
    call = getattr(spec.hooks, hook).call
    assert isinstance(call, PythonSpec)
    return call.source


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("file: hook.py", "hook.py"),
        ("configMap: {name: code, namespace: shop, key: hook.py}", "hook.py"),
        ("configMap: {name: code, namespace: shop, key: other.py}", ""),
    ],
)
def test_code_is_found_beside_the_controller(tmp_path, written, path):
    (tmp_path / "controller.yaml").write_text(CONTROLLER % written)
    (tmp_path / "hook.py").write_text("")

    for named in (tmp_path, tmp_path / "controller.yaml"):
        found = source_of(read_local(named, "-f").spec)
        assert found.path == (str(tmp_path / path) if path else "")
        assert (found.config_map is None) == bool(path)


def test_kinds_that_are_defined_beside_the_controller_are_known(tmp_path):
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: cats.example.com}\n"
    (tmp_path / "controller.yaml").write_text(CONTROLLER % "inline: x")
    (tmp_path / "crd.yaml").write_text(crd)
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "parent.yaml").write_text("apiVersion: example.com/v1\nkind: Cat\nmetadata: {name: tom}\n")

    kinds = [each["kind"] for each in read_local(tmp_path / "controller.yaml", "-f").manifests]

    assert kinds == ["CompositeController", "CustomResourceDefinition"]


def test_a_python_file_says_what_it_controls_and_is_not_run_to_be_read(tmp_path):
    path = tmp_path / "cats.py"
    path.write_text(IN_PYTHON)

    spec = read_local(path, "FILE").spec

    assert (spec.sort, spec.name) == (Sort.COMPOSITE, "cats")
    assert source_of(spec).path == source_of(spec, "finalize").path == str(path)
    assert spec.hooks.finalize.version == "v2"
    assert spec.hooks.customize is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "kind: Pod\napiVersion: v1", "must have one of CompositeController"),
        ("a.yaml", f"{CONTROLLER % 'file: a'}---{CONTROLLER % 'file: b'}", "it has 2"),
        ("a.yaml", CONTROLLER % "file: a, inline: b", "spec.hooks.sync.python"),
        ("a.py", "def sync(request): ...", "does not say what it controls; give it CONTROLLER"),
        ("a.py", "CONTROLLER = dict(kind='x')", "CONTROLLER must be a dict of nothing but values"),
        ("a.py", "def sync(:", "is not valid Python"),
    ],
)
def test_files_that_cannot_be_meant_are_refused_in_a_sentence(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)

    with pytest.raises(Misuse) as refused:
        read_local(tmp_path / name, "-f")

    assert said in str(refused.value.message)


def test_kinds_are_kubernetes_own_those_that_are_defined_and_those_of_objects():
    names = {"plural": "mice", "kind": "Mouse"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "scope": "Cluster", "names": names, "versions": [{"name": "v1"}]},
    }
    kinds = KnownKinds([crd, {"apiVersion": "example.com/v1", "kind": "Pony"}])

    assert kinds.of(KindRef("apps/v1", "deployments")) == DEPLOYMENTS
    assert kinds.of(KindRef("example.com/v1", "mice")) == Resource("example.com", "v1", "mice", "Mouse", False)
    assert kinds.of(KindRef("example.com/v1", "ponies")).kind == "Pony"
    with pytest.raises(Misuse, match="give their CustomResourceDefinition"):
        kinds.of(KindRef("example.com/v1", "geese"))


async def test_hooks_read_the_secrets_and_config_maps_of_the_files():
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "shop"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}}
    objects = LocalObjects([secret, config, {"apiVersion": "v1", "kind": "Kustomization"}])

    assert await objects.secret("shop", "token") is secret
    assert await objects.config_map("default", "code") is config
    assert await objects.config_map("shop", "token") is None
