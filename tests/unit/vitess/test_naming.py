"""The names of a VitessCluster's objects: a function of their parts alone."""

import pytest

from hanse.vitess import naming
from hanse.vitess.naming import LOCKSERVER_NAME, SERVICE_NAME, NameLimits, join_name, name_hash


def test_parts_are_joined_and_followed_by_their_hash():
    assert join_name("hello", "world") == "hello-world-1dd41005"


def test_what_is_not_allowed_is_cleaned_and_the_hash_is_of_the_original():
    assert join_name("My_Shop", "a.b") == f"my-shop-a-b-{name_hash(('My_Shop', 'a.b'))}"
    assert join_name("My_Shop", "a.b") != join_name("my-shop", "a-b")


def test_parts_that_join_alike_have_different_names():
    assert join_name("a-b", "c") != join_name("a", "b-c")


def test_a_name_that_is_too_long_is_cut_to_its_limit():
    name = join_name("s" * 70, limits=SERVICE_NAME)
    assert len(name) == 63
    assert name == f"{'s' * 52}---{name_hash(('s' * 70,))}"


def test_a_name_that_just_fits_is_not_cut():
    assert join_name("s" * 54, limits=SERVICE_NAME) == f"{'s' * 54}-{name_hash(('s' * 54,))}"


def test_a_service_never_starts_with_a_digit():
    assert naming.cluster_service_name("9x", "vtgate").startswith("x9x-vtgate-")
    assert naming.keyspace_name("9x", "main").startswith("9x-main-")


def test_a_limit_without_room_for_the_hash_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="at least 12"):
        NameLimits(11)


def test_a_lockserver_leaves_room_for_the_names_of_its_services():
    name = naming.global_lockserver_name("c" * 80)
    assert len(name) == LOCKSERVER_NAME.longest
    assert len(naming.lockserver_client_service(name)) == 63


# Nothing but the cluster's name goes into it, so clusters that share one lockserver find each other's members.
def test_equal_cluster_names_in_two_kubernetes_clusters_give_equal_lockserver_names():
    assert naming.global_lockserver_name("shop") == naming.global_lockserver_name("shop")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (naming.global_lockserver_name("example"), "example-etcd-faf13de3"),
        (naming.cell_lockserver_name("example", "zone1"), "example-zone1-etcd-43880480"),
        (naming.cell_name("example", "zone1"), "example-zone1-5abb61ae"),
        (naming.cell_vtgate_name("example", "zone1"), "example-zone1-vtgate-bc6cde92"),
        (naming.cluster_service_name("example", "vtgate"), "example-vtgate-ae7df4b6"),
        (naming.cluster_service_name("example", "vtctld"), "example-vtctld-625ee430"),
        (naming.cell_deployment_name("example", "zone1", "vtctld"), "example-zone1-vtctld-1d4dcad0"),
        (naming.cluster_service_name("example", "vttablet"), "example-vttablet-08646a59"),
        (naming.cluster_service_name("example", "vtadmin"), "example-vtadmin-72eaf1ba"),
        (naming.cell_deployment_name("example", "zone1", "vtadmin"), "example-zone1-vtadmin-c03d7eae"),
        (naming.keyspace_name("example", "commerce"), "example-commerce-fb9b866a"),
        (naming.shard_name("example", "commerce", "x-x"), "example-commerce-x-x-0f5afee6"),
        (naming.vtorc_name("example", "commerce", "x-x", "zone1"), "example-commerce-x-x-zone1-vtorc-c13ef6ff"),
        (naming.tablet_name("example", "zone1-2548885007"), "example-vttablet-zone1-2548885007-46a852d0"),
        (naming.initial_backup_name("example", "commerce", "x-x"), "example-commerce-x-x-vtbackup-init-c6db73c9"),
        (naming.backup_storage_name("example", ""), "example-90089e05"),
        (naming.backup_schedule_name("example", "every-minute"), "example-vbsc-every-minute-94d12263"),
        (naming.shard_name("shop", "orders", "x-80"), "shop-orders-x-80-5e59d8a5"),
        (naming.shard_name("shop", "orders", "80-x"), "shop-orders-80-x-a88c9533"),
        (naming.vtorc_name("shop", "orders", "x-80", "useast1a"), "shop-orders-x-80-useast1a-vtorc-95b79fe7"),
        (naming.vtorc_name("shop", "orders", "x-80", "uswest2a"), "shop-orders-x-80-uswest2a-vtorc-6b0ae8cb"),
        (naming.initial_backup_name("shop", "orders", "x-80"), "shop-orders-x-80-vtbackup-init-09a11ce2"),
        (naming.tablet_name("shop", "useast1a-2244051001"), "shop-vttablet-useast1a-2244051001-68c79155"),
        (naming.tablet_name("shop", "uswest2a-0394942161"), "shop-vttablet-uswest2a-0394942161-1cea71ac"),
    ],
)
def test_every_object_has_the_name_that_users_know(name, expected):
    assert name == expected
