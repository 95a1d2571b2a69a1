"""The files of examples/vitess/first: the operator's are what the room says, and the example is a valid cluster."""

import re
import runpy

import pytest
import yaml

from hanse.api.vitess.definitions import VITESS_CRDS
from hanse.composite.reading import read_controller
from hanse.composite.spec import SpecProblems
from hanse.vitess.first.components import CONFIG_JS
from hanse.vitess.first.controllers import in_jsonnet, in_python, vitess_controllers
from tests.unit.vitess.first.requests import FOLDER

OPERATOR = FOLDER / "vitess-operator.yaml"
CONTROLLERS = vitess_controllers(in_jsonnet)


def test_the_operators_file_is_what_the_room_says():
    shipped = list(yaml.safe_load_all(OPERATOR.read_text()))

    assert shipped == [*VITESS_CRDS, *CONTROLLERS], "run `python tools/vitess_operator.py`"


def test_the_tool_writes_the_operators_file():
    tool = runpy.run_path(str(FOLDER.parents[2] / "tools" / "vitess_operator.py"))

    assert tool["FILE"] == OPERATOR
    assert tool["operator_yaml"]() == OPERATOR.read_text()


@pytest.mark.parametrize("code", [in_jsonnet, in_python])
@pytest.mark.parametrize("place", range(len(CONTROLLERS)), ids=[each["metadata"]["name"] for each in CONTROLLERS])
def test_every_controller_can_be_run_in_either_language(code, place):
    controller = vitess_controllers(code)[place]

    assert not isinstance(
        read_controller({**controller, "metadata": {**controller["metadata"], "uid": "1"}}), SpecProblems
    )


@pytest.mark.parametrize(
    ("controller", "parent", "children"),
    [
        ("vitesscluster-controller", "vitessclusters", ["vitesscells RollingInPlace"]),
        (
            "vitesscell-controller",
            "vitesscells",
            [
                "services InPlace",
                "configmaps InPlace",
                "deployments RollingInPlace",
                "jobs Recreate",
                "etcdclusters RollingInPlace",
                "vitesskeyspaces RollingInPlace",
            ],
        ),
        ("vitesskeyspace-controller", "vitesskeyspaces", ["vitessshards RollingInPlace"]),
        (
            "vitessshard-controller",
            "vitessshards",
            ["pods RollingRecreate", "persistentvolumeclaims OnDelete", "jobs OnDelete"],
        ),
        (
            "etcdcluster-controller",
            "etcdclusters",
            ["services InPlace", "persistentvolumeclaims OnDelete", "pods RollingRecreate"],
        ),
    ],
)
def test_each_layer_has_a_controller_that_changes_its_children_so(controller, parent, children):
    spec = next(each["spec"] for each in CONTROLLERS if each["metadata"]["name"] == controller)

    assert spec["parentResource"]["resource"] == parent
    assert [f"{each['resource']} {each['updateStrategy']['method']}" for each in spec["childResources"]] == children


def test_every_hook_is_a_file_of_the_folder_and_every_import_is_there():
    files = {file.name: file.read_text() for file in (FOLDER / "hooks").iterdir()}
    hooks = [hook["jsonnet"]["configMap"] for each in CONTROLLERS for hook in each["spec"]["hooks"].values()]

    assert {(each["namespace"], each["name"]) for each in hooks} == {("metacontroller", "vitess-operator-hooks")}
    assert {each["key"] for each in hooks} == {name for name in files if name.endswith(".jsonnet")}
    imported = {name for text in files.values() for name in re.findall(r"import(?:str)? '([^']+)'", text)}
    assert imported == {name for name in files if not name.endswith(".jsonnet")}
    assert files["config.js"] == CONFIG_JS


@pytest.mark.parametrize(
    ("plural", "short"),
    [("vitessclusters", "vt"), ("vitesscells", "vtc"), ("vitesskeyspaces", "vtk"), ("vitessshards", "vts")],
)
def test_the_kinds_have_their_short_names_and_say_whether_they_are_ready(plural, short):
    crd = next(each for each in VITESS_CRDS if each["spec"]["names"]["plural"] == plural)
    (version,) = crd["spec"]["versions"]
    columns = [each["name"] for each in version["additionalPrinterColumns"]]

    assert (crd["spec"]["group"], version["name"], crd["spec"]["scope"]) == ("vitess.io", "v1alpha1", "Namespaced")
    assert crd["spec"]["names"]["shortNames"] == [short]
    assert columns[-4:] == ["Ready", "Updated", "Why", "Age"]
    assert version["subresources"] == {"status": {}}
