"""EtcdCluster: members as pods that keep their names and their data, found at the client's Service."""

import pytest

from hanse.vitess.first.etcd import sync
from tests.unit.vitess.first.requests import an_etcd, asked, below, named, now


def test_an_etcd_is_two_services_and_a_volume_and_a_pod_for_each_member():
    children = below("etcd", an_etcd())

    assert [f"{each['kind']} {each['metadata']['name']}" for each in children] == [
        "Service vitess-global-etcd-client",
        "Service vitess-global-etcd",
        *(f"PersistentVolumeClaim vitess-global-etcd-{index}" for index in range(3)),
        *(f"Pod vitess-global-etcd-{index}" for index in range(3)),
    ]
    client, peer = children[:2]
    assert client["spec"]["ports"] == [{"name": "client", "port": 2379}]
    assert peer["spec"]["publishNotReadyAddresses"] is True
    assert children[2]["spec"]["resources"] == {"requests": {"storage": "1Gi"}}


def test_every_member_knows_all_of_them_by_names_that_stay():
    pod = named(below("etcd", an_etcd(repository="mirror/etcd")), "vitess-global-etcd-1", "Pod")
    (container,) = pod["spec"]["containers"]

    assert container["image"] == "mirror/etcd:v3.2.11"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("vitess-global-etcd-1", "vitess-global-etcd")
    assert "--name=vitess-global-etcd-1" in container["command"]
    members = ",".join(
        f"vitess-global-etcd-{index}=http://vitess-global-etcd-{index}.vitess-global-etcd:2380" for index in range(3)
    )
    assert f"--initial-cluster={members}" in container["command"]
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "vitess-global-etcd-1"}


@pytest.mark.parametrize(
    ("size", "ready", "status"),
    [(3, 0, "False"), (3, 1, "False"), (3, 2, "True"), (3, 3, "True"), (1, 0, "False"), (1, 1, "True")],
)
def test_an_etcd_is_available_with_a_quorum(size, ready, status):
    etcd = an_etcd(size=size)
    pods = [each for each in below("etcd", etcd) if each["kind"] == "Pod"]
    told = sync(asked("etcd", etcd, *(now(pod, "Ready" if i < ready else "!Ready") for i, pod in enumerate(pods))))

    (condition,) = told["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Available", status)
    assert condition["message"] == f"{ready} of {size} members are ready"
    assert told["status"]["members"]["ready"] == [f"vitess-global-etcd-{index}" for index in range(ready)]
    assert told["status"]["serviceName"] == "vitess-global-etcd-client"
