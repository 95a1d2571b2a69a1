"""Names of lockservers that mean something only inside a cluster, and who uses them.

A Service's name is resolved where this process runs. Where two clusters have a lockserver of one name, what answers is
the lockserver of one of them at most; the other's operator would take its records for its own, and prune them.
"""

from __future__ import annotations

from collections.abc import Callable

_INSIDE = (".svc", ".cluster.local")
Objection = Callable[[], str]
Names = Callable[[str], Objection]


class NameClaims:
    """Which clusters have a lockserver at each name of that sort."""

    def __init__(self) -> None:
        self._clusters: dict[str, set[str]] = {}

    def of(self, cluster: str) -> Names:
        """Return what notes the lockservers of a cluster and tells, at any time, what speaks against asking one."""
        return lambda address: self._claim(cluster, address)

    def _claim(self, cluster: str, address: str) -> Objection:
        if not any(_is_inside(each) for each in address.split(",")):
            return lambda: ""
        clusters = self._clusters.setdefault(address, set())
        clusters.add(cluster)

        def objection() -> str:
            if len(clusters) < 2:
                return ""
            return (
                f"{address} is a name inside each of {', '.join(sorted(clusters))}, and one answers for all from here: "
                "give these lockservers external addresses that differ"
            )

        return objection


def no_claims(_address: str) -> Objection:
    """Object to nothing."""
    return lambda: ""


def _is_inside(address: str) -> bool:
    host = address.rpartition("://")[2].rpartition(":")[0] or address
    return host.endswith(_INSIDE)
