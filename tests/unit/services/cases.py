"""Small values for tests of services: federation v1's two clusters, and the three of the first design."""

from hanse.kube.manifest import Key
from hanse.services.naming import Federation
from hanse.services.presence import FederatedService, Place, Port, Presence

FEDERATION = Federation("my-federation", "my-domain.com")
KEY = Key("my-namespace", "my-service")
HOSTNAME = "my-service.my-namespace.my-federation.my-domain.com"
STEM = "my-service.my-namespace.my-federation.svc"
PORTS = (Port("client", "TCP", 2379), Port("peer", "TCP", 2380))
PLACES = {
    "c-us": Place("c-us", "us", ("us-a",)),
    "c-eu": Place("c-eu", "eu", ("eu-a",)),
}


def presence(cluster, *addresses, **more):
    return Presence(cluster, tuple(sorted(addresses)), **more)


def service(*presences, **more):
    return FederatedService(KEY, PORTS, tuple(presences), **more)
