"""The names under which the services of a federation are found."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.manifest import Key


@dataclass(frozen=True, slots=True)
class Federation:
    """A federation's name, and the DNS domain in which its services have theirs."""

    name: str
    domain: str

    def hostname(self, service: Key) -> str:
        """Return the name that clients are told: SERVICE.NAMESPACE.FEDERATION.DOMAIN."""
        return f"{service.name}.{service.namespace}.{self.name}.{self.domain}"

    def everywhere(self, service: Key) -> str:
        """Return the name of the global level."""
        return f"{self._stem(service)}.{self.domain}"

    def in_region(self, service: Key, region: str) -> str:
        """Return the name of a region's level."""
        return f"{self._stem(service)}.{label(region)}.{self.domain}"

    def in_zone(self, service: Key, region: str, zone: str) -> str:
        """Return the name of a zone's level."""
        return f"{self._stem(service)}.{label(zone)}.{label(region)}.{self.domain}"

    def in_cluster(self, service: Key, cluster: str) -> str:
        """Return the name of one cluster's part, to which SRV records lead."""
        return f"{cluster}.{self.everywhere(service)}"

    def _stem(self, service: Key) -> str:
        return f"{service.name}.{service.namespace}.{self.name}.svc"


def label(text: str) -> str:
    """Return a region or zone as one label of a DNS name; some providers' have capitals, dots or underscores."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower())
    return kept.strip("-")[:63].rstrip("-") or "x"
