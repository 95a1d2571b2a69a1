"""The built-in authoritative DNS server: a federation's services by name, answered in an order that suits the asker."""

from hanse.services.dns.book import Book
from hanse.services.dns.follower import Follower
from hanse.services.dns.limits import Limits
from hanse.services.dns.server import DnsServer
from hanse.services.dns.serving import DnsOptions, serve_dns
from hanse.services.dns.zone import Zone
from hanse.services.dns.zones import Zones

__all__ = ["Book", "DnsOptions", "DnsServer", "Follower", "Limits", "Zone", "Zones", "serve_dns"]
