"""`hanse plan` and `hanse explain` on files alone: what a user's CI runs."""

import orjson
import pytest
import yaml
from click.testing import CliRunner

from hanse.api.kubefed.forms import FORM_A
from hanse.cli.explain import command as explain
from hanse.cli.plan import command as plan
from tests.unit.federated.cases import federated, in_clusters, override, part, preference

CLUSTER = {"apiVersion": "clusterregistry.k8s.io/v1alpha1", "kind": "Cluster"}
FLEET = [
    {**CLUSTER, "metadata": {"name": "eu", "labels": {"topology.kubernetes.io/region": "eu"}}},
    {**CLUSTER, "metadata": {"name": "us", "labels": {"topology.kubernetes.io/region": "us"}}},
]
POLICY = {
    "apiVersion": "hanse.dev/v1alpha1",
    "kind": "PlacementPolicy",
    "metadata": {"name": "both", "namespace": "shop"},
    "spec": {"selects": [{"kind": "Deployment"}], "spread": [{"by": "region", "minGroups": 2}]},
}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 4},
}
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump_all(FLEET))
    (tmp_path / "web.yaml").write_text(yaml.safe_dump_all([POLICY, WEB]))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "settings.json").write_bytes(orjson.dumps({"kind": "List", "items": [SETTINGS]}))
    return tmp_path


def run(command, *args):
    return CliRunner().invoke(command, [str(arg) for arg in args])


def test_a_plan_of_files_says_where_everything_would_go(files):
    done = run(plan, "-f", files / "web.yaml", "-f", files / "more", "--clusters", files / "fleet.yaml", "-o", "json")

    assert done.exit_code == 0
    objects = orjson.loads(done.output)["objects"]
    assert [
        (each["object"], [(part["cluster"], part["replicas"]) for part in each["clusters"]]) for each in objects
    ] == [
        ("Deployment shop/web", [("eu", 2), ("us", 2)]),
        ("ConfigMap default/settings", [("eu", None), ("us", None)]),
    ]
    assert objects[0]["placedBy"] == ["PlacementPolicy shop/both selects it"]


def test_what_cannot_be_had_ends_with_code_1(files):
    done = run(plan, "-f", files / "web.yaml", "--clusters", files / "fleet.yaml", "--lose", "us")

    assert done.exit_code == 1
    assert "at least 2 regions are asked for and only eu can be used" in done.output


def test_an_explanation_of_files_names_the_policy_and_every_cluster(files):
    done = run(explain, "-f", files / "web.yaml", "--clusters", files / "fleet.yaml")

    assert done.exit_code == 0
    assert done.output == (
        "Deployment shop/web: 4 replicas wanted\n"
        "Placed by: PlacementPolicy shop/both selects it.\n"
        "\n"
        "eu  would get 2 replicas\n"
        "  Every cluster is selected.\n"
        "  It is ready.\n"
        "  4 replicas divided equally over 2 ready clusters give it 2.\n"
        "\n"
        "us  would get 2 replicas\n"
        "  Every cluster is selected.\n"
        "  It is ready.\n"
        "  4 replicas divided equally over 2 ready clusters give it 2.\n"
    )


def test_a_function_in_a_file_counts_before_every_policy(files):
    (files / "policies.py").write_text(
        "import hanse\n\n\ndef home(manifest):\n    return hanse.Placement(hanse.ClusterTerm(names=('eu',)))\n"
    )

    done = run(
        plan, "-f", files / "web.yaml", "--clusters", files / "fleet.yaml", "--policy", f"{files}/policies.py:home"
    )

    assert done.exit_code == 0
    assert "eu: 4" in done.output


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "name the objects with -f"),
        (["-f", "nowhere.yaml", "--clusters", "{}/fleet.yaml"], "there is no file nowhere.yaml"),
        (["-f", "{}/web.yaml", "--clusters", "{}/more"], "--clusters has a ConfigMap"),
        (
            ["-f", "{}/web.yaml", "--clusters", "{}/fleet.yaml", "--lose", "mars"],
            "--lose mars: there is no such cluster",
        ),
        (["-f", "{}/bad.yaml", "--clusters", "{}/fleet.yaml"], "bad.yaml is not valid YAML"),
        (["-f", "{}/odd.yaml", "--clusters", "{}/fleet.yaml"], "odd.yaml, document 1 is no Kubernetes object"),
        (["-f", "{}/wrong.yaml", "--clusters", "{}/fleet.yaml"], "PlacementPolicy both: spec.division.type: 'Fair'"),
        (["-f", "{}/web.yaml", "--clusters", "{}/fleet.yaml", "--policy", "x.py:f"], "name a file and a function"),
    ],
)
def test_a_wrong_command_line_or_file_ends_with_code_2_and_a_sentence(files, args, sentence):
    (files / "bad.yaml").write_text("a: [")
    (files / "odd.yaml").write_text("a: 1")
    (files / "wrong.yaml").write_text(yaml.safe_dump({**POLICY, "spec": {"selects": [], "division": {"type": "Fair"}}}))

    done = run(plan, *(arg.format(files) for arg in args))

    assert done.exit_code == 2
    assert sentence in done.output


def test_explain_wants_an_object_or_files(files):
    assert run(explain).exit_code == 2
    assert "-f needs --clusters" in run(explain, "-f", files / "more").output


def test_federated_objects_in_files_go_where_all_that_speaks_of_them_says(files):
    placed = in_clusters("eu", "us")
    web = federated(placement=placed, overrides=[override("us", {"path": "/spec/replicas", "value": 5})])
    shared = federated(name="shared", placement=placed)
    old, its_placement = (
        federated(form=FORM_A, name="old"),
        part("Deployment", "Placement", {"clusterNames": ["eu"]}, name="old"),
    )
    divided = preference(total=9, clusters={"eu": {"weight": 1}, "us": {"weight": 2}}, name="shared")
    (files / "federated.yaml").write_text(yaml.safe_dump_all([web, shared, old, its_placement, divided]))

    done = run(plan, "-f", files / "federated.yaml", "--clusters", files / "fleet.yaml", "-o", "wide")

    assert done.exit_code == 0
    assert [" ".join(line.split()) for line in done.output.splitlines()[1:]] == [
        "FederatedDeployment shop/web eu: 3, us: 5 - -",
        "FederatedDeployment shop/shared eu: 3, us: 6 ReplicaSchedulingPreference shop/shared divides 9 replicas -",
        "FederatedDeployment shop/old eu: 3 - -",
    ]


def test_what_speaks_of_nothing_in_the_files_is_said(files):
    (files / "preference.yaml").write_text(yaml.safe_dump(preference()))

    done = run(plan, "-f", files / "preference.yaml", "--clusters", files / "fleet.yaml")

    assert done.exit_code == 1
    assert "it speaks of FederatedDeployment shop/web, which is not here" in done.output


def test_of_two_objects_in_files_that_mean_the_same_the_first_has_the_word(files):
    placed = federated(placement=in_clusters("eu"))
    (files / "both.yaml").write_text(yaml.safe_dump_all([placed, WEB]))

    done = run(plan, "-f", files / "both.yaml", "--clusters", files / "fleet.yaml")

    assert done.exit_code == 1
    assert "FederatedDeployment shop/web speaks for Deployment shop/web" in done.output


def test_a_policy_of_another_version_is_refused(files):
    (files / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "apiVersion": "hanse.dev/v9"}))

    done = run(plan, "-f", files / "policy.yaml", "--clusters", files / "fleet.yaml")

    assert done.exit_code == 2
    assert "apiVersion of a PlacementPolicy must be hanse.dev/v1alpha1" in done.output
