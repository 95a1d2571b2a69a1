"""Addresses are handed out once, in a repeatable order."""

from ipaddress import IPv4Network

import pytest

from hanse.simulator.networking.addresses import (
    AddressPool,
    PoolExhausted,
    load_balancer_network,
    node_address,
    pod_network,
)


def test_each_cluster_has_networks_of_its_own():
    assert [str(load_balancer_network(index)) for index in (0, 1, 239)] == [
        "127.10.0.0/17",
        "127.11.0.0/17",
        "127.249.0.0/17",
    ]
    assert str(pod_network(239)) == "10.240.0.0/16"
    assert (node_address(0, 0), node_address(1, 0), node_address(239, 3999)) == (
        "172.16.0.1",
        "172.16.16.1",
        "172.30.255.160",
    )


def test_an_owner_keeps_its_address_and_others_get_the_next():
    pool = AddressPool(IPv4Network("10.0.0.0/29"))
    assert [pool.take(owner) for owner in ("a", "b", "a")] == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]


def test_what_is_held_is_not_given_to_others():
    pool = AddressPool(IPv4Network("10.0.0.0/29"))
    assert pool.hold("old", "10.0.0.1")
    assert not pool.hold("thief", "10.0.0.1")
    assert not pool.hold("old", "192.168.0.1")
    assert not pool.hold("old", "fd00::1")
    assert (pool.take("new"), pool.take("old")) == ("10.0.0.2", "10.0.0.1")


def test_what_was_released_is_used_again_when_the_rest_is_taken():
    pool = AddressPool(IPv4Network("10.0.0.0/30"))
    assert (pool.take("a"), pool.take("b")) == ("10.0.0.1", "10.0.0.2")
    with pytest.raises(PoolExhausted):
        pool.take("c")
    pool.release("a")
    assert pool.take("c") == "10.0.0.1"
