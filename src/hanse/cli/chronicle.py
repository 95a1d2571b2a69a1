"""Events of many API servers as one story: merged in the order of time, each with the cluster it happened in. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Key, Obj, dig, namespace_of
from hanse.kube.runtime import parse_timestamp


@dataclass(frozen=True, slots=True)
class Happening:
    """One event: when it was last seen (seconds of the epoch), where, about what."""

    when: float
    cluster: str
    warning: bool
    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    count: int = 1

    @property
    def about(self) -> str:
        """The object as kubectl names it in events."""
        return f"{self.kind.lower()}/{self.name}"


def story(events: Mapping[str, Iterable[Obj]]) -> list[Happening]:
    """Merge the Events of several clusters, the oldest first; those without a time come before all others."""
    told = [happening(cluster, event) for cluster, listed in events.items() for event in listed]
    return sorted(told, key=lambda each: (each.when, each.cluster, each.about, each.reason))


def happening(cluster: str, event: Obj) -> Happening:
    """Read an Event of either of its two forms: counted by its writer, or as a series."""
    about = event.get("involvedObject") or event.get("regarding") or {}
    return Happening(
        when=_when(event),
        cluster=cluster,
        warning=event.get("type") == "Warning",
        kind=about.get("kind") or "",
        namespace=about.get("namespace") or namespace_of(event),
        name=about.get("name") or "",
        reason=event.get("reason") or "",
        message=" ".join((event.get("message") or event.get("note") or "").split()),
        count=dig(event, "series", "count", default=0) or event.get("count") or 1,
    )


def concerning(
    told: Iterable[Happening], about: Collection[tuple[str, Key]], relatives: Mapping[str, Collection[str]]
) -> list[Happening]:
    """Keep what is about one of these objects, or what descends from a copy of them (`Kind/name` by cluster)."""
    namespaces = {key.namespace for _, key in about}
    names = {(kind, key.name) for kind, key in about}
    return [
        each
        for each in told
        if ("" in namespaces or each.namespace in namespaces)
        and ((each.kind, each.name) in names or f"{each.kind}/{each.name}" in relatives.get(each.cluster, ()))
    ]


def _when(event: Obj) -> float:
    times = (
        dig(event, "series", "lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
        dig(event, "metadata", "creationTimestamp"),
    )
    for text in times:
        if text:
            try:
                return parse_timestamp(text)
            except ValueError:
                continue
    return 0.0
