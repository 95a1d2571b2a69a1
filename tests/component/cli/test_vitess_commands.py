"""`hanse vitess` as people type it, against a served federation and on files alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from hanse.api.planetscale.definitions import VITESS_CLUSTER_CRD
from hanse.api.planetscale.kinds import DRAIN_STARTED_ANNOTATION, VITESS_CLUSTERS
from hanse.cli.main import main
from hanse.cli.vitess_parts import is_for_federations, serve_vitess
from hanse.kube.manifest import Obj, annotations_of
from hanse.kube.resources import CRDS, NAMESPACES, PODS
from hanse.vitess.federated.picture import Picture, ShardRecord
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.requests import EVACUATE_ANNOTATION, REPARENT_ANNOTATION
from hanse.vitess.federated.status import MemberView, Told, merged_status
from hanse.vitess.naming import tablet_name
from tests.component.served_federation import ServedFederation
from tests.unit.vitess.federated.shop import plan_of, shop

EXAMPLE = Path(__file__).parents[3] / "examples" / "vitess" / "federated"
PRIMARY = "useast1a-2244051001"


def _status(source: Obj) -> Obj:
    picture = Picture(
        shards={
            ShardId("orders", "-80"): ShardRecord(PRIMARY),
            ShardId("orders", "80-"): ShardRecord("uswest2a-4209214293"),
        }
    )
    members = {"east": MemberView({}, reachable=True, settled=True), "west": MemberView()}
    return merged_status(source, Told(plan_of(shop()), members, picture, notes=["time passes"]), "2026-11-18T00:00:00Z")


async def _prepare(federation: ServedFederation) -> None:
    await serve_vitess(federation.host)
    for name in ("host", "east"):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vt"}}
        await federation.clients[name].create(NAMESPACES, namespace)
    source = shop()
    del source["metadata"]["uid"]
    made = await federation.host.create(VITESS_CLUSTERS, source)
    await federation.host.update(VITESS_CLUSTERS, {**made, "status": _status(made)}, subresource="status")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": tablet_name("shop", PRIMARY), "namespace": "vt"},
        "spec": {"containers": [{"name": "vttablet", "image": "vitess/lite"}]},
    }
    await federation.clients["east"].create(PODS, pod)


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedFederation]:
    served = ServedFederation(tmp_path_factory.mktemp("vitess"), "east", "west")
    served.join("east")
    served.join("west")
    served.ask(_prepare(served))
    yield served
    served.close()


def _annotation(federation: ServedFederation, name: str) -> str | None:
    found = federation.ask(federation.host.get(VITESS_CLUSTERS, "shop", "vt"))
    return annotations_of(found).get(name)


def test_the_status_is_a_picture_of_cells_and_shards_with_their_primaries(federation: ServedFederation):
    code, said = federation.say("vitess", "status", "shop")
    assert code == 0
    assert said.splitlines()[0] == (
        "vt/shop: degraded: west cannot be reached; what runs there goes on by itself, and nothing is pruned"
    )
    lines = {line.split()[1]: line.split() for line in said.splitlines() if line.startswith(("east", "west"))}
    assert lines["useast1a"] == ["east", "useast1a", "*o", "oo", "Unknown"]
    assert lines["uswest2a"] == ["west", "uswest2a", "o", "*", "Unknown"]
    assert lines["uswest2c"] == ["west", "uswest2c", ".", ".", "Unknown"]
    assert "- time passes" in said


def test_wide_names_primaries_and_says_how_each_cluster_stands(federation: ServedFederation):
    _, said = federation.say("vitess", "status", "shop", "-o", "wide")
    assert ["orders/-80", PRIMARY, "east", "east"] in [line.split() for line in said.splitlines()]
    assert any(line.startswith("west") and "cannot be reached" in line for line in said.splitlines())


def test_programs_read_json_and_yaml(federation: ServedFederation):
    _, said = federation.say("vitess", "status", "shop", "-o", "json")
    assert json.loads(said)["shards"]["orders/-80"]["primary"] == PRIMARY
    _, said = federation.say("vitess", "status", "shop", "-o", "yaml")
    assert yaml.safe_load(said)["members"]["west"]["reachable"] is False


def test_a_tablet_is_drained_where_it_is_and_let_be_again(federation: ServedFederation):
    async def marks() -> dict[str, str]:
        return annotations_of(await federation.clients["east"].get(PODS, tablet_name("shop", PRIMARY), "vt"))

    code, said = federation.say("vitess", "drain", "shop", PRIMARY)
    assert (code, said.partition(";")[0]) == (0, f"tablet {PRIMARY} in east will be drained in its turn")
    assert DRAIN_STARTED_ANNOTATION in federation.ask(marks())
    assert federation.say("vitess", "drain", "shop", PRIMARY, "--cancel")[0] == 0
    assert DRAIN_STARTED_ANNOTATION not in federation.ask(marks())


def test_a_cluster_is_evacuated_until_that_is_undone_but_never_the_last(federation: ServedFederation):
    code, said = federation.say("vitess", "evacuate", "shop", "east")
    assert (code, said.partition(";")[0]) == (0, "cluster east is being evacuated")
    assert _annotation(federation, EVACUATE_ANNOTATION) == "east"
    code, said = federation.say("vitess", "evacuate", "shop", "west")
    assert code != 0
    assert "one has to stay" in said
    assert federation.say("vitess", "evacuate", "shop", "east", "--undo")[0] == 0
    assert _annotation(federation, EVACUATE_ANNOTATION) is None


def test_a_primary_is_wished_for(federation: ServedFederation):
    heir = "uswest2a-0394942161"
    code, said = federation.say("vitess", "reparent", "shop", "orders/-80", "--to", heir)
    assert (code, said) == (
        0,
        f"{heir} becomes the primary of orders/-80; `hanse vitess status shop` tells when\n",
    )
    assert _annotation(federation, REPARENT_ANNOTATION) == f"orders/-80={heir}"
    assert federation.say("vitess", "reparent", "shop", "orders/-80", "--to", PRIMARY) == (
        0,
        f"{PRIMARY} is the primary of orders/-80 already\n",
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("status", "nope"), "there is no VitessCluster nope; the federation has vt/shop"),
        (("drain", "shop", "useast1a-9"), "is no tablet alias"),
        (("drain", "shop", "mars1a-0000000001"), "there is no cell 'mars1a'"),
        (("drain", "shop", "useast1a-0000000001"), "cluster east has no tablet useast1a-0000000001"),
        (("evacuate", "shop", "mars"), "cluster mars has no part of shop; east, west have"),
        (("reparent", "shop", "orders", "--to", PRIMARY), "'orders' is no shard; write KEYSPACE/SHARD"),
        (("reparent", "shop", "orders/-40", "--to", PRIMARY), "there is no shard orders/-40"),
        (("reparent", "shop", "orders/-80", "--to", "uswest2b-2088132781"), "cannot lead orders/-80"),
    ],
)
def test_what_cannot_be_is_one_sentence(federation: ServedFederation, words: tuple[str, ...], sentence: str):
    code, said = federation.say("vitess", *words)
    assert code != 0
    assert sentence in said
    assert len(said.strip().splitlines()) == 1


def test_a_plan_on_files_alone_is_the_worked_split():
    done = CliRunner().invoke(
        main, ["vitess", "plan", "-f", str(EXAMPLE / "shop.yaml"), "--clusters", str(EXAMPLE / "fleet.yaml")]
    )
    rows = [line.split() for line in done.output.splitlines()]
    assert done.exit_code == 0
    assert ["east", "useast1a,useast1b,useast1c", "orders", "4", "orders/-80,orders/80-"] in rows
    assert ["west", "uswest2a,uswest2b,uswest2c", "orders", "4", "-"] in rows


def test_a_plan_prints_the_members_objects():
    files = ["-f", str(EXAMPLE / "shop.yaml"), "--clusters", str(EXAMPLE / "fleet.yaml")]
    done = CliRunner().invoke(main, ["vitess", "plan", *files, "-o", "yaml"])
    parts = list(yaml.safe_load_all(done.output))
    assert [[cell["name"] for cell in part["spec"]["cells"]] for part in parts] == [
        ["useast1a", "useast1b", "useast1c"],
        ["uswest2a", "uswest2b", "uswest2c"],
    ]


def test_a_plan_says_what_is_wrong_in_one_sentence(tmp_path: Path):
    source = shop()
    source["spec"]["cells"][0]["cluster"] = "mars"
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(source))
    files = ["-f", str(tmp_path / "shop.yaml"), "--clusters", str(EXAMPLE / "fleet.yaml")]
    done = CliRunner().invoke(main, ["vitess", "plan", *files])
    assert done.exit_code == 1
    assert "spec.cells[0].cluster: no cluster 'mars' is registered" in done.output


def test_networks_that_overlap_stop_a_plan(tmp_path: Path):
    fleet = list(yaml.safe_load_all((EXAMPLE / "fleet.yaml").read_text()))
    fleet[1]["metadata"]["annotations"]["hanse.dev/pod-networks"] = "10.1.4.0/24"
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump_all(fleet))
    files = ["-f", str(EXAMPLE / "shop.yaml"), "--clusters", str(tmp_path / "fleet.yaml")]
    done = CliRunner().invoke(main, ["vitess", "plan", *files])
    assert done.exit_code == 1
    assert "pod networks 10.1.0.0/16 and 10.1.4.0/24 overlap" in done.output


def test_the_example_is_accepted_by_the_hosts_definition(federation: ServedFederation):
    example = next(
        each for each in yaml.safe_load_all((EXAMPLE / "shop.yaml").read_text()) if each["kind"] == "VitessCluster"
    )
    made = federation.ask(
        federation.host.create(VITESS_CLUSTERS, {**example, "metadata": {"name": "other", "namespace": "vt"}})
    )
    assert made["spec"] == example["spec"], "no field is dropped"
    federation.ask(federation.host.delete(VITESS_CLUSTERS, "other", "vt"))


def test_a_host_with_an_operator_of_its_own_keeps_its_definition(federation: ServedFederation):
    east = federation.clients["east"]
    federation.ask(east.create(CRDS, VITESS_CLUSTER_CRD))
    federation.ask(serve_vitess(east))
    found = federation.ask(east.get(CRDS, VITESS_CLUSTERS.group_resource))
    assert not is_for_federations(found)
    assert is_for_federations(federation.ask(federation.host.get(CRDS, VITESS_CLUSTERS.group_resource)))


def test_a_plan_says_that_the_control_plane_reaches_no_lockserver_of_an_inner_name(tmp_path: Path):
    source = next(obj for obj in yaml.safe_load_all((EXAMPLE / "shop.yaml").read_text()) if "spec" in obj)
    source["spec"]["globalLockserver"]["external"]["address"] = "etcd.vt.svc:2379"
    source["spec"]["cells"] = [{"name": "useast1a", "cluster": "east"}]
    template = source["spec"]["keyspaces"][0]["partitionings"][0]["equal"]["shardTemplate"]
    template["tabletPools"] = template["tabletPools"][:1]
    file = tmp_path / "shop.yaml"
    file.write_text(yaml.safe_dump(source))
    files = ["-f", str(file), "--clusters", str(EXAMPLE / "fleet.yaml")]
    done = CliRunner().invoke(main, ["vitess", "plan", *files])
    assert done.exit_code == 0, done.output
    assert "note: the federation: the control plane does not reach the lockserver etcd.vt.svc:2379" in done.output
    assert "give spec.globalLockserver.external.address the name of a federated Service" in done.output


def test_an_evacuation_that_is_waited_for_ends_when_no_primary_is_there(federation: ServedFederation):
    async def lead_from(members: list[str]) -> list[str]:
        source = await federation.host.get(VITESS_CLUSTERS, "shop", "vt")
        shards = source["status"]["federation"]["shards"].values()
        before = [state["member"] for state in shards]
        for state, member in zip(shards, members, strict=True):
            state["member"] = member
        await federation.host.update(VITESS_CLUSTERS, source, subresource="status")
        return before

    before = federation.ask(lead_from(["west", "west"]))
    try:
        code, said = federation.say("vitess", "evacuate", "shop", "east", "--wait")
        assert (code, said) == (0, "cluster east has no primary of shop any more\n")
        assert federation.say("vitess", "evacuate", "shop", "east", "--undo")[0] == 0
    finally:
        federation.ask(lead_from(before))
