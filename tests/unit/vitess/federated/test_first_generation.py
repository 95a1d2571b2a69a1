"""VitessClusters of the first generation on the federation: split by cells, refused where that cannot work."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from hanse.kube.manifest import Obj
from hanse.placement.decision import Decision
from hanse.propagation.intent import Intent, Problem
from hanse.propagation.report import Report, Row
from hanse.vitess.federated.first_door import FirstVitessDoor
from hanse.vitess.federated.first_splitting import first_refusals, split_first

_EXAMPLE = Path(__file__).parents[4] / "examples" / "vitess" / "first" / "my-vitess.yaml"
_ADDRESS = "http://etcd.vt.example:2379"
_NOW = "2026-11-18T00:00:00Z"


def _vitess() -> Obj:
    found: Obj = deepcopy(yaml.safe_load(_EXAMPLE.read_text()))
    found["metadata"] |= {"namespace": "default", "uid": "u1", "generation": 1}
    spec = found["spec"]
    spec["cells"][0]["cluster"] = "east"
    spec["cells"][1]["cluster"] = "east"
    spec["cells"].append({"name": "zone2", "cluster": "west", "vtgate": {"image": "vitess/lite:v2.2", "replicas": 1}})
    spec["keyspaces"][0]["cells"] = ["zone1", "zone2"]
    spec["federation"] = {"topoGlobalServerAddress": _ADDRESS}
    return found


def test_each_member_gets_its_cells_and_the_keyspaces_in_them():
    parts = split_first(_vitess())
    assert {member: [cell["name"] for cell in part["spec"]["cells"]] for member, part in parts.items()} == {
        "east": ["global", "zone1"],
        "west": ["zone2"],
    }
    keyspaces = {
        member: {each["name"]: each["cells"] for each in part["spec"]["keyspaces"]} for member, part in parts.items()
    }
    assert keyspaces == {"east": {"main": ["zone1"], "lookup": ["zone1"]}, "west": {"main": ["zone2"]}}
    assert all("federation" not in part["spec"] for part in parts.values())
    assert all("cluster" not in cell for part in parts.values() for cell in part["spec"]["cells"])


def test_all_find_the_global_lockserver_and_gateways_watch_every_cell():
    parts = split_first(_vitess())
    gateway = parts["west"]["spec"]["cells"][0]["vtgate"]["flags"]
    assert gateway == {"topo_global_server_address": _ADDRESS, "cells_to_watch": "zone1,zone2"}
    tablets = parts["west"]["spec"]["keyspaces"][0]["tablets"]["defaults"]["vttablet"]
    assert tablets["flags"] == {"topo_global_server_address": _ADDRESS}


def test_flags_that_somebody_set_win():
    source = _vitess()
    source["spec"]["cells"][2]["vtgate"]["flags"] = {"cells_to_watch": "zone2"}
    assert split_first(source)["west"]["spec"]["cells"][0]["vtgate"]["flags"]["cells_to_watch"] == "zone2"


def _without_cluster(spec: Obj) -> None:
    del spec["cells"][1]["cluster"]


def _without_global(spec: Obj) -> None:
    del spec["cells"][0]


def _without_address(spec: Obj) -> None:
    del spec["federation"]


def _unknown_cell(spec: Obj) -> None:
    spec["keyspaces"][0]["cells"].append("mars")


def _twice(spec: Obj) -> None:
    spec["cells"].append({"name": "zone2", "cluster": "east"})


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_without_cluster, "spec.cells[1].cluster: name the cluster of cell zone1"),
        (_without_global, "spec.cells: list the cell global"),
        (_without_address, "spec.federation.topoGlobalServerAddress: give the address"),
        (_unknown_cell, "spec.keyspaces[0].cells: no cell 'mars' is listed"),
        (_twice, "spec.cells[3].cluster: cell zone2 is in clusters west and east"),
    ],
)
def test_what_cannot_be_split_is_refused_with_the_field(spoil, sentence):
    source = _vitess()
    spoil(source["spec"])
    assert any(str(each).startswith(sentence) for each in first_refusals(source["spec"], {}))


def test_a_cell_is_not_moved_and_what_members_have_stays():
    source = _vitess()
    source["status"] = {"federation": {"homes": {"zone2": "east"}}}
    found = FirstVitessDoor().translate(source)
    assert isinstance(found, Problem)
    assert "its data does not move to west" in found.message
    told = FirstVitessDoor().refused(source, found, _NOW)
    assert told["status"]["federation"] == {"homes": {"zone2": "east"}}
    assert "members keep what they have" in told["status"]["conditions"][0]["message"]


def test_the_engine_carries_a_part_to_each_member():
    intent = FirstVitessDoor().translate(_vitess())
    assert isinstance(intent, Intent)
    assert intent.placement.clusters.names == ("east", "west")


def test_one_that_names_no_cluster_is_the_hosts_own():
    source = _vitess()
    for cell in source["spec"]["cells"]:
        cell.pop("cluster", None)
    assert not FirstVitessDoor().admits(source)
    assert FirstVitessDoor().admits(_vitess())


def _row(member: str, *cells: str, ready: bool = True) -> Row:
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"cells": list(cells), "readyCells": list(cells) if ready else [], "conditions": conditions}
    copy = {"metadata": {"generation": 1, "annotations": {"hanse.dev/rendered": "x"}}, "status": status}
    wanted = {"metadata": {"annotations": {"hanse.dev/rendered": "x"}}}
    return Row(member, wanted, copy, live=True)


@pytest.mark.parametrize(("west_ready", "ready"), [(True, "True"), (False, "False")])
def test_it_is_ready_when_the_cells_of_all_members_are(west_ready, ready):
    rows = (_row("east", "vitess-global", "vitess-zone1"), _row("west", "vitess-zone2", ready=west_ready))
    source = FirstVitessDoor().reported(_vitess(), Report(Decision(()), rows), _NOW)
    assert source["status"]["conditions"][0]["status"] == ready
    assert source["status"]["cells"] == ["vitess-global", "vitess-zone1", "vitess-zone2"]
    assert source["status"]["federation"]["homes"] == {"global": "east", "zone1": "east", "zone2": "west"}
