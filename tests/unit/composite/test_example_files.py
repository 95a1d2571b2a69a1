"""The files of the examples fit together: what controllers name is there, and their forms differ in hooks alone."""

import pytest
import yaml

from hanse.composite.reading import read_controller
from hanse.composite.spec import ControllerSpec, JsonnetSpec, PythonSpec, WebhookSpec
from tests.simulation.composite.examples import FOLDER, Example

EXAMPLES = sorted(each.name for each in FOLDER.iterdir() if each.is_dir() and (each / "controller.yaml").exists())
CONTROLLERS = [
    (name, file.name) for name in EXAMPLES for file in sorted((FOLDER / name).glob("controller*.yaml"), reverse=True)
]


def test_every_example_of_the_sheet_is_there_and_two_have_every_language():
    assert EXAMPLES == [
        "blue-green-deployment",
        "catset",
        "config-map-propagation",
        "crd-roles",
        "daemon-job",
        "global-config-map",
        "indexed-job",
        "secret-propagation",
        "service-per-pod",
    ]
    assert {name for name, file in CONTROLLERS if file == "controller-jsonnet.yaml"} == {
        "catset",
        "config-map-propagation",
    }
    assert {name for name, file in CONTROLLERS if file == "controller-webhook.yaml"} == {
        "catset",
        "config-map-propagation",
        "service-per-pod",
    }


@pytest.mark.parametrize(("name", "file"), CONTROLLERS)
def test_a_controller_calls_what_its_folder_has(name, file):
    example = Example(name)
    (controller,) = example.documents(file)
    (kustomization,) = example.documents("kustomization.yaml")
    (generated,) = kustomization["configMapGenerator"]

    spec = read_controller(controller)

    assert isinstance(spec, ControllerSpec), spec
    for hook in ("sync", "finalize", "customize"):
        called = getattr(spec.hooks, hook)
        assert (called is not None) == (hook in example.functions), hook
        match called and called.call:
            case WebhookSpec(url):
                assert url == f"http://127.0.0.1:8080/{hook}"
            case PythonSpec(source) | JsonnetSpec(source):
                named = source.config_map
                assert (named.name, named.namespace) == (generated["name"], generated["namespace"])
                assert named.key in generated["files"]
    assert all((example.folder / each).exists() for each in [*generated["files"], *kustomization["resources"]])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_forms_of_a_controller_differ_in_their_hooks_alone(name):
    found = []
    for file in sorted((FOLDER / name).glob("controller*.yaml")):
        controller = yaml.safe_load(file.read_text())
        controller["spec"]["hooks"] = dict.fromkeys(controller["spec"]["hooks"])
        found.append(controller)

    assert all(each == found[0] for each in found)
