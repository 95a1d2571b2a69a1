"""The layers above tablets: names, labels, what each level hands down, order, and Ready from below."""

import pytest

from hanse.vitess.first.cell import sync as sync_cell
from hanse.vitess.first.cluster import sync as sync_cluster
from hanse.vitess.first.keyspace import sync as sync_keyspace
from tests.unit.vitess.first.requests import a_cell, a_keyspace, asked, below, complete, named, now, vitess

CLUSTER = {"vitess.io/cluster": "vitess"}
ZONE1 = {**CLUSTER, "vitess.io/cell": "zone1"}
MAIN = {**ZONE1, "vitess.io/keyspace": "main"}


def kinds(objects):
    return [f"{each['kind']} {each['metadata']['name']}" for each in objects]


def ready(answer):
    (condition,) = answer["status"]["conditions"]
    assert condition["type"] == "Ready"
    return condition["status"], condition["message"]


def test_a_cluster_has_a_cell_object_for_each_cell_with_the_keyspaces_that_are_there():
    globally, zone1 = below("cluster", vitess())

    assert kinds([globally, zone1]) == ["VitessCell vitess-global", "VitessCell vitess-zone1"]
    assert (globally["spec"]["keyspaces"], zone1["spec"]["keyspaces"]) == ([], vitess()["spec"]["keyspaces"])
    assert (zone1["spec"]["cluster"], zone1["spec"]["backupFlags"]) == ("vitess", {})
    assert zone1["spec"]["selector"] == {"matchLabels": ZONE1}
    assert zone1["metadata"]["labels"] == zone1["spec"]["template"]["metadata"]["labels"] == ZONE1
    assert "etcd" in globally["spec"]
    assert "etcd" not in zone1["spec"]


def test_the_global_cell_holds_etcd_vtctld_and_orchestrator_and_neither_registers_itself_nor_has_tablets():
    assert kinds(below("cell", a_cell("global"))) == [
        "EtcdCluster vitess-global-etcd",
        "Service vitess-global-vtctld",
        "ConfigMap vitess-global-vtctld",
        "Deployment vitess-global-vtctld",
        "Service vitess-global-orchestrator",
        "Deployment vitess-global-orchestrator",
    ]


def test_another_cell_has_its_tablets_service_and_its_registration_and_its_keyspaces_come_last():
    assert kinds(below("cell", a_cell())) == [
        "Service vitess-zone1-vtgate",
        "Deployment vitess-zone1-vtgate",
        "Service vitess-vttablet-zone1",
        "Job vitess-zone1-cell-info",
        "VitessKeyspace vitess-zone1-main",
        "VitessKeyspace vitess-zone1-lookup",
    ]


def test_the_tablets_service_has_no_address_and_names_those_that_are_not_ready():
    service = named(below("cell", a_cell()), "vitess-vttablet-zone1")

    assert service["metadata"]["labels"] == {**ZONE1, "vitess.io/component": "vttablet"}
    assert service["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {**ZONE1, "vitess.io/component": "vttablet"},
        "ports": [{"name": "web", "port": 15000}, {"name": "grpc", "port": 15999}],
    }


@pytest.mark.parametrize(
    ("etcd", "address"),
    [
        ({}, "http://vitess-global-etcd-client:2379"),
        ({"etcd": {"version": "3.2.11", "size": 1}}, "http://vitess-zone1-etcd-client:2379"),
    ],
)
def test_a_cell_is_registered_with_its_own_etcd_or_else_the_global_one(etcd, address):
    cells = [{"name": "global"}, {"name": "zone1", **etcd}]
    job = named(below("cell", a_cell(cells=cells)), "vitess-zone1-cell-info")

    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == [
        *("vtctlclient", "-server", "vitess-global-vtctld:15999", "UpdateCellInfo"),
        *("-server_address", address, "-root", "/vitess/zone1", "zone1"),
    ]
    assert (job["spec"]["activeDeadlineSeconds"], job["spec"]["backoffLimit"]) == (60, 10)
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert job["metadata"]["labels"] == {**ZONE1, "vitess.io/component": "vtctlclient"}


def command(cell, name):
    deployment = named(below("cell", cell), name, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return container["command"][-1]


def test_flags_are_sorted_quoted_and_a_users_own_win():
    cells = vitess()["spec"]["cells"]
    cells[1]["vtgate"]["flags"] = {"cells_to_watch": "zone1,zone2", "zzz": 1, "logtostderr": False}

    assert command(a_cell(cells=cells), "vitess-zone1-vtgate") == (
        'set -ex; exec /vt/bin/vtgate -cell="zone1" -cells_to_watch="zone1,zone2"'
        ' -gateway_implementation="discoverygateway" -grpc_port="15999" -logtostderr="false" -port="15000"'
        ' -service_map="grpc-vtgateservice" -tablet_types_to_wait="MASTER,REPLICA"'
        ' -topo_global_root="/vitess/global"'
        ' -topo_global_server_address="http://vitess-global-etcd-client:2379" -topo_implementation="etcd2" -zzz="1"'
    )


def test_vtctld_has_flags_for_backups_a_dashboard_and_a_probe_that_gives_it_time():
    cell = a_cell("global", backupFlags={"backup_storage_implementation": "gcs"})
    text = command(cell, "vitess-global-vtctld")
    deployment = named(below("cell", cell), "vitess-global-vtctld", "Deployment")
    pod = deployment["spec"]["template"]["spec"]

    for flag in ('backup_storage_implementation="gcs"', 'cell="global"', 'service_map="grpc-vtctl"'):
        assert f" -{flag}" in text
    for flag in ("web_dir", "web_dir2", "workflow_manager_init", "workflow_manager_use_election"):
        assert f" -{flag}=" in text
    assert pod["containers"][0]["livenessProbe"] == {
        "httpGet": {"path": "/debug/vars", "port": 15000},
        "initialDelaySeconds": 30,
        "timeoutSeconds": 5,
    }
    assert [each["name"] for each in pod["volumes"]] == ["vtdataroot", "web", "config"]
    assert pod["securityContext"] == {"runAsUser": 999, "fsGroup": 999}
    assert "copy-web" in [each["name"] for each in pod["initContainers"]]


def test_links_of_the_dashboard_lead_through_the_api_server():
    config = named(below("cell", a_cell("global")), "vitess-global-vtctld", "ConfigMap")

    assert "'vitess-vttablet-' + tablet.hostname" in config["data"]["config.js"]
    assert "/proxy'" in config["data"]["config.js"]


def test_an_orchestrator_is_a_deployment_behind_the_address_that_tablets_report_to():
    children = below("cell", a_cell("global"))
    deployment = named(children, "vitess-global-orchestrator", "Deployment")
    service = named(children, "vitess-global-orchestrator", "Service")

    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "vitess/orchestrator:v2.2"
    assert service["spec"]["ports"] == [{"name": "web", "port": 80, "targetPort": 3000}]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]


def test_no_shards_are_one_shard_named_0():
    (shard,) = below("keyspace", a_keyspace("lookup"))

    assert shard["metadata"]["name"] == "vitess-zone1-lookup-0"
    assert (shard["spec"]["name"], shard["spec"]["keyspace"]) == ("0", "lookup")
    assert shard["metadata"]["labels"]["vitess.io/shard"] == "0"


@pytest.mark.parametrize(
    ("shard", "name", "safe"),
    [
        ({"keyRange": {"start": "", "end": "80"}}, "-80", "x-80"),
        ({"keyRange": {"end": "80"}}, "-80", "x-80"),
        ({"keyRange": {"start": "80", "end": ""}}, "80-", "80-x"),
        ({"keyRange": {"start": "40", "end": "80"}}, "40-80", "40-80"),
        ({"keyRange": {}}, "-", "x-x"),
        ({"name": "custom"}, "custom", "custom"),
    ],
)
def test_a_shard_is_called_by_its_key_range_and_its_object_without_dashes_at_the_ends(shard, name, safe):
    keyspace = a_keyspace()
    keyspace["spec"]["shards"] = [shard]
    (made,) = below("keyspace", keyspace)

    assert made["metadata"]["name"] == f"vitess-zone1-main-{safe}"
    assert made["metadata"]["labels"] == {**MAIN, "vitess.io/shard": safe}
    assert made["spec"]["name"] == name
    assert made["spec"]["selector"] == {"matchLabels": {**MAIN, "vitess.io/shard": safe}}
    assert (made["spec"]["cell"], made["spec"]["cells"]) == ("zone1", ["zone1"])


@pytest.mark.parametrize(
    ("globally", "zone1", "status", "told"),
    [
        ("Ready", "Ready", "True", "everything below is ready"),
        ("Ready", "!Ready", "False", "waiting for cell zone1"),
        ("", "", "False", "waiting for cell global, cell zone1"),
    ],
)
def test_a_cluster_is_ready_when_each_of_its_cells_is(globally, zone1, status, told):
    cells = below("cluster", vitess())
    answer = sync_cluster(asked("cluster", vitess(), now(cells[0], globally), now(cells[1], zone1)))

    assert ready(answer) == (status, told)
    assert answer["status"]["cells"] == ["global", "zone1"]
    expected = [name for name, condition in (("global", globally), ("zone1", zone1)) if condition == "Ready"]
    assert answer["status"]["readyCells"] == expected


def test_a_cell_that_nobody_wants_any_more_is_waited_for():
    cells = complete(below("cluster", vitess()))
    keeps = vitess(cells=[{"name": "global"}], keyspaces=[])

    assert ready(sync_cluster(asked("cluster", keeps, *cells))) == ("False", "waiting for cell zone1 to go")


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("", "everything below is ready"),
        ("EtcdCluster vitess-global-etcd", "waiting for etcd"),
        ("Deployment vitess-global-vtctld", "waiting for vtctld"),
        ("Service vitess-global-vtctld", "waiting for vtctld"),
        ("ConfigMap vitess-global-vtctld", "waiting for vtctld"),
        ("Deployment vitess-global-orchestrator", "waiting for orchestrator"),
    ],
)
def test_the_global_cell_is_ready_when_every_part_works(broken, told):
    cell = a_cell("global")
    existing = [each for each in complete(below("cell", cell)) if kinds([each]) != [broken]]

    assert ready(sync_cell(asked("cell", cell, *existing)))[1] == told


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("", "everything below is ready"),
        ("Deployment vitess-zone1-vtgate", "waiting for vtgate"),
        ("Service vitess-vttablet-zone1", "waiting for the Service of the tablets"),
        ("Job vitess-zone1-cell-info", "waiting for the registration of the cell"),
        ("VitessKeyspace vitess-zone1-main", "waiting for keyspace main"),
    ],
)
def test_another_cell_is_ready_when_it_is_registered_too_and_all_its_keyspaces_are_ready(broken, told):
    cell = a_cell()
    existing = [
        now(each, "Ready", "Available", "Complete") if kinds([each]) != [broken] else now(each, "!Complete")
        for each in below("cell", cell)
        if kinds([each]) != [broken] or each["kind"] != "Service"
    ]
    answer = sync_cell(asked("cell", cell, *existing))

    assert ready(answer)[1] == told
    assert answer["status"]["cellInfoRegistered"] == (broken != "Job vitess-zone1-cell-info")


def test_a_registration_that_failed_goes_so_that_another_one_comes():
    cell = a_cell()
    job = named(below("cell", cell), "vitess-zone1-cell-info")
    answer = sync_cell(asked("cell", cell, now(job, "Failed")))

    assert "Job vitess-zone1-cell-info" not in kinds(answer["children"])
    assert answer["status"]["cellInfoRegistered"] is False


def test_a_cell_tells_what_exists_and_what_of_it_works():
    cell = a_cell("global")
    answer = sync_cell(asked("cell", cell, *complete(below("cell", cell))))

    assert {key: value for key, value in answer["status"].items() if key != "conditions"} == {
        "keyspaces": [],
        "readyKeyspaces": [],
        "etcd": {"clusters": 1, "availableClusters": 1},
        "vtctld": {"services": 1, "configMaps": 1, "deployments": 1, "availableDeployments": 1},
        "vtgate": {"services": 0, "deployments": 0, "availableDeployments": 0},
        "orchestrator": {"services": 1, "deployments": 1, "availableDeployments": 1},
        "vttablet": {"services": 0},
        "cellInfoRegistered": True,
    }


def test_a_keyspace_is_ready_when_each_of_its_shards_is():
    keyspace = a_keyspace()
    low, high = below("keyspace", keyspace)
    half = sync_keyspace(asked("keyspace", keyspace, now(low, "Ready"), now(high, "!Ready")))
    all_of_it = sync_keyspace(asked("keyspace", keyspace, now(low, "Ready"), now(high, "Ready")))

    assert (half["status"]["shards"], half["status"]["readyShards"]) == (["-80", "80-"], ["-80"])
    assert ready(half) == ("False", "waiting for shard 80-")
    assert ready(all_of_it)[0] == "True"
