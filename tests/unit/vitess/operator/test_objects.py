"""The objects of a VitessCluster: flags, pods, Services, lockservers, and what people add to them."""

import pytest

from hanse.kube.manifest import annotations_of, labels_of, name_of
from hanse.vitess.operator.flags import (
    exporter_arguments,
    flag_arguments,
    go_max_procs,
    image_version,
    merged_flags,
)
from tests.unit.vitess.operator.scenes import (
    SETTINGS,
    cell,
    child,
    children,
    cluster,
    container,
    flags_of,
    grown_up,
    live,
    lockserver,
    names,
    reasons,
    shard,
    shard_of,
)
from tests.vitess_specs import keyspace, pool, template, vitess_cluster


def etcd(**spec):
    return {
        "apiVersion": "planetscale.com/v2",
        "kind": "EtcdLockserver",
        "metadata": {"name": "example-etcd", "namespace": "default", "labels": {"planetscale.com/cluster": "example"}},
        "spec": spec,
    }


def vitess_cell(**gateway):
    made = cluster(vitess_cluster(cells=[{"name": "zone1", "gateway": gateway}]))
    return live(child(made, "VitessCell"))


def secret(name, **data):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def test_30_a_lockserver_has_three_members_two_services_and_a_budget():
    made = lockserver(etcd())
    assert names(made, "Pod") == names(made, "PersistentVolumeClaim") == [f"example-etcd-{n}" for n in (1, 2, 3)]
    assert names(made, "Service") == ["example-etcd-client", "example-etcd-peer"]
    assert child(made, "PodDisruptionBudget")["spec"]["minAvailable"] == 2
    peer = child(made, "Service", "example-etcd-peer")["spec"]
    assert (peer["clusterIP"], peer["publishNotReadyAddresses"], peer["ports"][0]["port"]) == ("None", True, 2380)
    flags = flags_of(container(child(made, "Pod", "example-etcd-2"), "etcd"))
    assert flags["name"] == "example-etcd-2"
    assert flags["initial-cluster-token"] == "example-etcd"
    assert flags["initial-cluster"].split(",")[0] == (
        "example-etcd-1=http://example-etcd-1.example-etcd-peer.default.svc:2380"
    )


def test_31_a_budget_stays_when_it_is_not_wanted_any_more():
    before = grown_up(lockserver(etcd()))
    assert names(lockserver(etcd(createPDB=False), *before), "PodDisruptionBudget") == ["etcd-lockserver-example-etcd"]
    assert names(lockserver(etcd(createPDB=False)), "PodDisruptionBudget") == []


def test_32_one_member_alone_knows_all_three():
    made = lockserver(etcd(localMemberIndex=2, advertisePeerURLs=[f"http://etcd-{n}:2380" for n in (1, 2, 3)]))
    assert names(made, "Pod") == ["example-etcd-2"]
    flags = flags_of(container(child(made, "Pod"), "etcd"))
    assert flags["initial-advertise-peer-urls"] == "http://etcd-2:2380"
    assert [each.split("=")[1] for each in flags["initial-cluster"].split(",")] == [
        "http://etcd-1:2380",
        "http://etcd-2:2380",
        "http://etcd-3:2380",
    ]


def test_members_of_a_lockserver_that_nobody_asks_for_any_more_keep_their_disks_and_run_on():
    before = grown_up(lockserver(etcd()))
    made = lockserver(etcd(localMemberIndex=1), *before)
    assert reasons(made) == ["InvalidSpec"]
    assert names(made, "Pod") == ["example-etcd-1", "example-etcd-2", "example-etcd-3"]
    assert len(names(made, "PersistentVolumeClaim")) == 3


def test_33_peers_are_three_or_none():
    assert reasons(lockserver(etcd(advertisePeerURLs=["http://a:2380", "http://b:2380"]))) == ["InvalidSpec"]


def test_a_changed_lockserver_is_restarted_one_member_at_a_time():
    before = grown_up(lockserver(etcd()))
    made = lockserver(etcd(image="etcd:v3.6.0"), *before)
    assert names(made, "Pod") == ["example-etcd-2", "example-etcd-3"]
    pods = [each for each in before if name_of(each) != "example-etcd-1" or each["kind"] != "Pod"]
    assert names(lockserver(etcd(image="etcd:v3.6.0"), *pods), "Pod") == [f"example-etcd-{n}" for n in (1, 2, 3)]


def test_34_an_external_lockserver_is_used_and_none_is_deployed():
    external = {"implementation": "etcd2", "address": "etcd.example:2379", "rootPath": "/vitess/shared"}
    made = cluster(vitess_cluster(globalLockserver={"external": external, "etcd": {}}))
    assert names(made, "EtcdLockserver") == []
    flags = flags_of(container(child(made, "Deployment"), "vtctld"))
    assert (flags["topo_global_server_address"], flags["topo_global_root"]) == ("etcd.example:2379", "/vitess/shared")
    assert child(made, "VitessCell")["spec"]["globalLockserver"] == external


def test_without_a_lockserver_the_clusters_own_is_used():
    flags = flags_of(container(child(cluster(vitess_cluster()), "Deployment"), "vtctld"))
    assert flags["topo_global_server_address"] == "example-etcd-faf13de3-client.default.svc:2379"
    assert flags["topo_global_root"] == "/vitess/example/global"


def test_39_static_credentials_give_three_flags_and_a_mount():
    made = cell(vitess_cell(authentication={"static": {"secret": {"name": "users", "key": "users.json"}}}))
    vtgate = container(child(made, "Deployment"), "vtgate")
    flags = flags_of(vtgate)
    assert flags["mysql_auth_server_impl"] == "static"
    assert flags["mysql_auth_server_static_file"] == "/vt/secrets/vtgate-static-auth/users.json"
    assert flags["mysql_auth_static_reload_interval"] == "30s"
    assert [mount["mountPath"] for mount in vtgate["volumeMounts"]] == ["/vt/secrets/vtgate-static-auth"]


def tls(**secrets):
    return {"secureTransport": {"required": True, "tls": secrets}}


def test_40_a_certificate_without_its_key_is_ignored_and_said():
    made = cell(vitess_cell(**tls(certSecret={"name": "tls", "key": "cert.pem"})))
    assert "mysql_server_ssl_cert" not in flags_of(container(child(made, "Deployment"), "vtgate"))
    assert reasons(made) == ["InvalidSpec"]


def test_41_a_changed_tls_secret_restarts_vtgate_and_changed_users_do_not():
    gateway = {
        **tls(certSecret={"name": "tls", "key": "cert.pem"}, keySecret={"name": "tls", "key": "key.pem"}),
        "authentication": {"static": {"secret": {"name": "users", "key": "users.json"}}},
    }

    def template_with(**data):
        related = [secret("tls", **data.get("tls", {})), secret("users", **data.get("users", {}))]
        return child(cell(vitess_cell(**gateway), related=related), "Deployment")["spec"]["template"]

    assert template_with(tls={"a": "1"}) != template_with(tls={"a": "2"})
    assert template_with(users={"a": "1"}) == template_with(users={"a": "2"})


def test_42_an_autoscaler_scales_the_cell_and_is_not_overruled():
    gateway = {"replicas": 2, "autoscaler": {"minReplicas": 2, "maxReplicas": 9}}
    asked = vitess_cluster(cells=[{"name": "zone1", "gateway": gateway}])
    stored = live(child(cluster(asked), "VitessCell"))
    hpa = child(cell(stored), "HorizontalPodAutoscaler")
    assert hpa["spec"]["scaleTargetRef"]["kind"] == "VitessCell"
    assert hpa["spec"]["scaleTargetRef"]["name"] == name_of(hpa) == "example-zone1-5abb61ae"
    scaled = {**stored, "spec": {**stored["spec"], "gateway": {**stored["spec"]["gateway"], "replicas": 7}}}
    assert child(cluster(asked, scaled), "VitessCell")["spec"]["gateway"]["replicas"] == 7
    assert child(cell(scaled), "Deployment")["spec"]["replicas"] == 7


def test_43_vtadmin_without_an_image_is_not_there():
    made = cluster(vitess_cluster(vtadmin={"apiAddresses": ["http://admin.example"]}))
    assert [name for name in names(made, "Deployment") if "vtadmin" in name] == []
    assert made.events == ()


@pytest.mark.parametrize("addresses", [[], ["http://a", "http://b"]])
def test_44_vtadmin_with_the_wrong_number_of_addresses_is_not_deployed_and_says_so(addresses):
    cells = [{"name": name} for name in ("zone1", "zone2", "zone3")]
    made = cluster(vitess_cluster(cells=cells, images={"vtadmin": "vtadmin:1"}, vtadmin={"apiAddresses": addresses}))
    assert [name for name in names(made, "Deployment") if "vtadmin" in name] == []
    assert reasons(made) == ["InvalidSpec"]
    assert "spec.vtadmin.apiAddresses" in made.events[0].message


def test_vtadmin_has_a_deployment_and_three_secrets_in_each_cell():
    admin = {"apiAddresses": ["http://admin.example"]}
    made = cluster(vitess_cluster(images={"vtadmin": "vtadmin:1"}, vtadmin=admin))
    assert "example-zone1-vtadmin-c03d7eae" in names(made, "Deployment")
    assert "example-vtadmin-72eaf1ba" in names(made, "Service")
    assert len(names(made, "Secret")) == 3
    assert flags_of(container(child(made, "Deployment", "example-zone1-vtadmin"), "vtadmin-api"))["no-rbac"] == "true"


def test_45_an_unknown_cell_of_the_dashboard_is_ignored_and_said():
    made = cluster(vitess_cluster(vitessDashboard={"cells": ["zone1", "zone9"]}))
    assert names(made, "Deployment") == ["example-zone1-vtctld-1d4dcad0"]
    assert reasons(made) == ["InvalidSpec"]
    assert "zone9" in made.events[0].message


def test_46_leading_dashes_do_not_matter_and_people_win():
    assert flag_arguments(merged_flags({"foo": "ours"}, {"-foo": "theirs", "--bar": "1"})) == [
        "--bar=1",
        "--foo=theirs",
    ]
    made = cell(vitess_cell(extraFlags={"--buffer_size": "2000"}))
    assert flags_of(container(child(made, "Deployment"), "vtgate"))["buffer_size"] == "2000"


def test_47_the_exporter_takes_booleans_in_its_own_way():
    assert exporter_arguments({"collect.a": "false", "collect.b": "true", "log": "info"}) == [
        "--no-collect.a",
        "--collect.b",
        "--log=info",
    ]


@pytest.mark.parametrize(
    ("limit", "procs"),
    [("1500m", "2"), ("2", "2"), ("100m", "1"), (None, None)],
)
def test_48_go_uses_as_many_threads_as_it_may(limit, procs):
    resources = {"limits": {"cpu": limit}} if limit else {"limits": {"memory": "1Gi"}}
    assert go_max_procs(resources) == ([{"name": "GOMAXPROCS", "value": procs}] if procs else [])


def test_49_the_mysql_image_says_the_charset_and_the_version():
    made = shard(shard_of(vitess_cluster()))
    flags = flags_of(container(children(made, "Pod")[0], "vttablet"))
    assert (flags["db_charset"], flags["mysql_server_version"]) == ("utf8mb4", "8.0.40-Vitess")
    old = vitess_cluster(images={"mysqld": {"mysql56Compatible": "percona:5.7"}})
    flags = flags_of(container(children(shard(shard_of(old)), "Pod")[0], "vttablet"))
    assert flags["db_charset"] == "utf8"
    assert "mysql_server_version" not in flags


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("mysql:8.0.40", "8.0.40"),
        ("registry.example:5000/mysql:8.4.2-debian", "8.4.2"),
        ("registry.example:5000/mysql", ""),
        ("mysql:latest", ""),
        ("mysql:8.0.40@sha256:abc", "8.0.40"),
    ],
)
def test_a_version_is_read_out_of_an_images_tag(image, version):
    assert image_version(image) == version


def test_a_tablets_pod_has_all_that_it_needs():
    made = shard(shard_of(vitess_cluster()))
    pod = child(made, "Pod", "example-vttablet-zone1-2548885007")
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["init-vt-root", "init-mysql-socket"]
    assert [each["name"] for each in pod["spec"]["containers"]] == ["vttablet", "mysqld", "mysqld-exporter"]
    assert labels_of(pod)["planetscale.com/tablet-uid"] == "2548885007"
    assert (pod["spec"]["terminationGracePeriodSeconds"], pod["spec"]["priorityClassName"]) == (1800, "vitess")
    assert pod["spec"]["securityContext"] == {"fsGroup": SETTINGS.fs_group, "runAsUser": 999}
    flags = flags_of(container(pod, "vttablet"))
    assert {name: flags[name] for name in ("tablet-path", "tablet_hostname", "init_shard", "init_tablet_type")} == {
        "tablet-path": "zone1-2548885007",
        "tablet_hostname": "$(POD_IP)",
        "init_shard": "-",
        "init_tablet_type": "replica",
    }
    assert flags["init_db_name_override"] == "vt_commerce"
    assert flags["restore_from_backup"] == "false"
    assert annotations_of(pod)["drain.planetscale.com/supported"]


def test_a_tablet_with_an_external_database_has_no_mysql_of_its_own():
    external = {
        "user": "app",
        "host": "db.example",
        "port": 3307,
        "database": "shop",
        "credentialsSecret": {"name": "db", "key": "users.json"},
        "serverCACertSecret": {"name": "db", "key": "ca.pem"},
    }
    outside = pool(type="externalmaster", replicas=1, mysqld=None, externalDatastore=external, name="outside")
    made = shard(shard_of(vitess_cluster(keyspaces=[keyspace("commerce", 1, outside)])))
    (pod,) = children(made, "Pod")
    assert [each["name"] for each in pod["spec"]["containers"]] == ["vttablet"]
    assert labels_of(pod)["planetscale.com/pool-name"] == "outside"
    flags = flags_of(container(pod, "vttablet"))
    assert (flags["unmanaged"], flags["db_host"], flags["db_port"], flags["db_flags"], flags["init_tablet_type"]) == (
        "true",
        "db.example",
        "3307",
        "2048",
        "spare",
    )


def test_tablets_restore_from_the_location_of_their_pool():
    backup = {"locations": [{"s3": {"region": "r", "bucket": "b", "keyPrefix": "shop/"}}], "engine": "xtrabackup"}
    made = shard(shard_of(vitess_cluster(backup=backup)))
    flags = flags_of(container(child(made, "Pod", "example-vttablet-zone1-2548885007"), "vttablet"))
    assert (flags["restore_from_backup"], flags["s3_backup_storage_root"]) == ("true", "shop/example")
    assert (flags["backup_engine_implementation"], flags["xtrabackup_stripes"]) == ("xtrabackup", "8")


def test_vtorc_is_in_every_cell_with_replicas():
    cells = [{"name": name} for name in ("zone1", "zone2", "zone3")]
    pools = (pool("zone1"), pool("zone2", 1), pool("zone3", 1, type="rdonly"))
    made = shard(shard_of(vitess_cluster(cells=cells, keyspaces=[keyspace("commerce", 1, *pools)])))
    vtorcs = children(made, "Deployment")
    assert [labels_of(each)["planetscale.com/cell"] for each in vtorcs] == ["zone1", "zone2"]
    assert flags_of(container(vtorcs[0], "vtorc"))["clusters_to_watch"] == "commerce/-"


def test_a_service_keeps_its_annotations_and_its_address():
    asked = vitess_cluster(gatewayService={"annotations": {"a": "1"}, "clusterIP": "10.0.0.9"})
    before = live(child(cluster(asked), "Service", "example-vtgate"))
    after = child(
        cluster(vitess_cluster(gatewayService={"annotations": {"b": "2"}}), before), "Service", "example-vtgate"
    )
    assert annotations_of(after) == {"a": "1", "b": "2"}
    assert after["spec"]["clusterIP"] == "10.0.0.9"


def test_79_without_initialize_backup_there_is_no_first_backup():
    backup = {"locations": [{"volume": {"emptyDir": {}}}]}
    on = shard(shard_of(vitess_cluster(backup=backup)))
    assert "example-commerce-x-x-vtbackup-init-c6db73c9" in names(on, "Pod")
    made = template(pool(), replication={"initializeBackup": False})
    off = vitess_cluster(
        backup=backup,
        keyspaces=[{"name": "commerce", "partitionings": [{"equal": {"parts": 1, "shardTemplate": made}}]}],
    )
    assert [name for name in names(shard(shard_of(off)), "Pod") if "vtbackup" in name] == []
