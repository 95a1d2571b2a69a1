"""Where addresses of simulated things come from: one network a cluster for pods, nodes and load balancers.

Load-balancer addresses lie in 127.0.0.0/8, so that Linux lets anybody listen on them; the others are made up.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

_NODES_PER_CLUSTER = 4096


def load_balancer_network(index: int) -> IPv4Network:
    """Return the loopback network of a cluster's load balancers."""
    return IPv4Network(f"127.{10 + index}.0.0/17")


def ingress_network(index: int) -> IPv4Network:
    """Return the loopback network of a cluster's Ingresses."""
    return IPv4Network(f"127.{10 + index}.128.0/18")


def gateway_network(index: int) -> IPv4Network:
    """Return the loopback network of a cluster's Gateways."""
    return IPv4Network(f"127.{10 + index}.192.0/18")


def pod_network(index: int) -> IPv4Network:
    """Return the network of a cluster's pods."""
    return IPv4Network(f"10.{1 + index}.0.0/16")


def node_address(index: int, position: int) -> str:
    """Return the address of the n-th node of a cluster."""
    return str(IPv4Address("172.16.0.0") + index * _NODES_PER_CLUSTER + position + 1)


class PoolExhausted(Exception):
    """Every address of a network is taken."""


class AddressPool:
    """Hands out the addresses of a network, each to one owner, in a repeatable order."""

    def __init__(self, network: IPv4Network) -> None:
        self._first = int(network.network_address) + 1
        self._count = network.num_addresses - 2
        self._next = 0
        self._owners: dict[str, str] = {}
        self._held: dict[str, str] = {}

    def hold(self, owner: str, address: str) -> bool:
        """Note that an owner has an address already; False when it is another owner's or not of this network."""
        if not self._contains(address):
            return False
        if self._owners.get(address, owner) != owner:
            return False
        self.release(owner, unless=address)
        self._owners[address] = owner
        self._held[owner] = address
        return True

    def _contains(self, address: str) -> bool:
        try:
            return 0 <= int(IPv4Address(address)) - self._first < self._count
        except ValueError:
            return False

    def take(self, owner: str) -> str:
        """Return the owner's address, a free one where it has none; raises PoolExhausted."""
        if owner in self._held:
            return self._held[owner]
        for _ in range(self._count):
            address = str(IPv4Address(self._first + self._next))
            self._next = (self._next + 1) % self._count
            if address not in self._owners:
                self.hold(owner, address)
                return address
        raise PoolExhausted(f"all {self._count} addresses of the pool are taken")

    def release(self, owner: str, *, unless: str = "") -> None:
        """Let go of what an owner holds."""
        address = self._held.get(owner)
        if address is not None and address != unless:
            del self._held[owner]
            del self._owners[address]
