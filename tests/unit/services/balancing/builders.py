"""Services that ask to be balanced, in as few words as a test needs."""

from hanse.kube.manifest import Key
from hanse.services.balancing.lines import Asking, Line, Target
from hanse.services.presence import FederatedService, Port, Presence

WEB = Port("web", "TCP", 80)


def presence(cluster, *addresses, **facts):
    return Presence(cluster, addresses or (f"192.0.2.{ord(cluster[0]) - ord('a') + 1}",), **facts)


def asking(text, *presences, name="web", ports=(WEB,), **facts):
    service = FederatedService(Key("shop", name), tuple(ports), tuple(presences or (presence("a"),)))
    return Asking(service, text, **facts)


def target(cluster, weight=256, port=80):
    return Target(cluster, presence(cluster).addresses[0], port, weight)


def line(*targets, name="web", listen=8080, **facts):
    return Line(Key("shop", name), 80, listen, targets=tuple(targets or (target("a"),)), **facts)
