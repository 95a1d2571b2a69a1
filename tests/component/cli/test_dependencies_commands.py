"""`hanse explain` and `hanse plan` know what follows whom, typed against a host and two clusters.

No control plane runs: what the members have is written by hand, as the engine would have written it.
"""

import pytest
import yaml

from hanse.cli.rehearsal import Federation, fleet
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.component.served_federation import ServedFederation

MEMBERS = ("east", "west")
SELECTOR = "federation.alpha.kubernetes.io/cluster-selector"


def web(region, *names):
    selector = f'[{{"key": "region", "operator": "in", "values": ["{region}"]}}]'
    pod = {
        "containers": [
            {"name": "main", "image": "web:1", "envFrom": [{"configMapRef": {"name": name}} for name in names]}
        ]
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "annotations": {"hanse.dev/dependencies": "follow", SELECTOR: selector},
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
        },
    }


def config(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("dependencies"), *MEMBERS)
    for name in MEMBERS:
        opened.join(name, region=name)
    opened.ask(placed_in_east(opened))
    yield opened
    opened.close()


async def placed_in_east(stage):
    federation = Federation(fleet({"east": {"region": "east"}}))
    for resource, obj in ((CONFIGMAPS, config("settings")), (DEPLOYMENTS, web("east", "settings", "missing"))):
        source = await stage.host.create(resource, obj)
        wanted = federation.rehearse(resource.name_kind(source)).planned.wanted
        await stage.clients["east"].create(resource, wanted["east"].manifest)


def test_an_explanation_of_a_config_map_says_whom_it_follows(stage):
    done = stage.type("explain", "configmap", "settings")

    assert done.exit_code == 0, done.output
    assert "Placed by: it follows Deployment default/web." in done.output
    assert "It follows Deployment default/web, which is there." in done.output
    assert "Nothing that it follows is there." in done.output


def test_an_explanation_of_a_workload_says_what_its_pods_will_not_find(stage):
    done = stage.type("explain", "deployment", "web")

    assert done.exit_code == 0, done.output
    assert "Note: it names ConfigMap default/missing, which does not exist on the federation." in done.output
    assert "ConfigMap default/settings" not in done.output


def test_a_plan_shows_what_moves_with_a_workload(stage, tmp_path):
    (tmp_path / "web.yaml").write_text(yaml.safe_dump_all([web("west", "settings"), config("unnamed")]))

    done = stage.type("plan", "-f", tmp_path / "web.yaml", "-o", "json")
    changes = {
        each["object"]: {change["cluster"]: change["effect"] for change in each["changes"]}
        for each in yaml.safe_load(done.output)["objects"]
    }

    assert done.exit_code == 1, done.output
    assert changes == {
        "ConfigMap default/settings": {"east": "removed", "west": "created"},
        "ConfigMap default/unnamed": {"east": "created", "west": "created"},
        "Deployment default/web": {"east": "removed", "west": "created"},
    }
