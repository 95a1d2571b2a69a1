"""Faults as values: what is wrong, how badly, for whom, and until when.

The same mapping says a fault everywhere: in a schedule's entry, on a Cluster's annotation and in `-o json`:
`{fault: latency, delay: 500ms, from: [users]}`. A kind has the parameters that its row of `KINDS` names, no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import orjson

from hanse.kube.runtime import micro_timestamp, parse_timestamp, timestamp
from hanse.simulator.faults.durations import DURATION_RULE, duration_text, parse_duration


class Party(StrEnum):
    """Who talks to a cluster's API server."""

    CONTROL_PLANE = "control-plane"
    USERS = "users"
    NODES = "nodes"


EVERYONE = tuple(Party)


class FaultError(ValueError):
    """A fault or a schedule that cannot be used, said in one sentence that names the field."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way for a cluster to be broken, and the parameters that it takes."""

    about: str
    # The name and default of its span of time, where it has one.
    span: tuple[str, float] | None = None
    rate: float | None = None
    parties: tuple[Party, ...] | None = None
    place: str = ""


KINDS: dict[str, Kind] = {
    "down": Kind("API server, nodes and addresses are dead; what was stored survives"),
    "crash": Kind("the API server is gone; pods go on running and what was stored survives"),
    "latency": Kind("every answer takes so much longer", span=("delay", 1.0), parties=EVERYONE),
    "errors": Kind("a share of requests fails, half of them after they were done", rate=0.3, parties=EVERYONE),
    "throttle": Kind("a share of requests is refused with 429", ("retryAfter", 1.0), rate=1.0, parties=EVERYONE),
    "hang": Kind("a share of requests is never answered; at rate 1 watches are silent too", rate=1.0, parties=EVERYONE),
    "partition": Kind("nothing passes between the API server and some", parties=(Party.CONTROL_PLANE,)),
    "cut-watches": Kind("watch streams break again and again", span=("every", 5.0), parties=EVERYONE),
    "stale-reads": Kind("reads show the cluster as it was when the fault began", parties=EVERYONE),
    "expired-credentials": Kind("credentials are refused with 401", parties=(Party.CONTROL_PLANE,)),
    "clock-skew": Kind("the cluster's clock is wrong", span=("skew", 60.0)),
    "lost-node": Kind("a node is dead: no heartbeats, its pods do nothing", place="node"),
    "slow-node": Kind("pods of a node start so much later", span=("delay", 10.0), place="node"),
    "lost-zone": Kind("every node of a zone is dead", place="zone"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with one cluster; `seconds` is what its kind's span means, `until` a time of day."""

    kind: str
    seconds: float = 0.0
    rate: float = 1.0
    parties: tuple[Party, ...] = EVERYONE
    place: str = ""
    until: float | None = None

    def concerns(self, party: Party) -> bool:
        """Tell whether it is done to the requests of a party."""
        return party in self.parties

    def as_mapping(self) -> dict[str, Any]:
        """Return the mapping that `fault_from` reads; parameters at their defaults are left out."""
        kind = KINDS[self.kind]
        found: dict[str, Any] = {"fault": self.kind}
        if kind.place:
            found[kind.place] = self.place
        if kind.span:
            found[kind.span[0]] = duration_text(self.seconds)
        if kind.rate is not None:
            found["rate"] = int(self.rate) if self.rate == 1 else self.rate
        if kind.parties is not None and set(self.parties) != set(kind.parties):
            found["from"] = [str(party) for party in self.parties]
        if self.kind == "partition":
            found["from"] = [str(party) for party in self.parties]
        if self.until is not None:
            found["until"] = timestamp(self.until) if self.until.is_integer() else micro_timestamp(self.until)
        return found

    def __str__(self) -> str:
        """Say the fault in a few words: `latency delay=500ms from=users`."""
        words = [self.kind]
        for name, value in self.as_mapping().items():
            if name not in ("fault", "until"):
                text = ",".join(value) if isinstance(value, list) else value
                words.append(f"{name}={text}")
        return " ".join(words)

    def same_as(self, other: Fault) -> bool:
        """Tell whether another is the same fault, however badly: setting one anew replaces it."""
        return (self.kind, self.place) == (other.kind, other.place)


def fault_from(entry: Any, *, where: str = "fault", ignoring: frozenset[str] = frozenset()) -> Fault:
    """Read one fault; `ignoring` are keys that belong to whoever holds the entry. Raises FaultError."""
    if not isinstance(entry, Mapping):
        raise FaultError(f"{where}: must be a mapping with a key fault, not {entry!r}")
    name = entry.get("fault")
    if name not in KINDS:
        raise FaultError(f"{where}.fault: must be one of {', '.join(KINDS)}, not {name!r}")
    kind = KINDS[name]
    known = _parameters(kind)
    for key in entry:
        if key not in known and key not in ignoring:
            raise FaultError(f"{where}.{key}: is not a parameter of {name}; it has {', '.join(known)}")
    return Fault(
        name,
        seconds=_span(kind, entry, where),
        rate=_rate(kind, entry, where),
        parties=_parties(kind, entry, where),
        place=_place(kind, entry, where),
        until=_until(entry, where),
    )


def faults_from_text(text: str) -> tuple[Fault, ...]:
    """Read the annotation of a Cluster: one kind's name, or a JSON list of faults; raises FaultError."""
    word = text.strip()
    if not word:
        return ()
    if not word.startswith("["):
        return (fault_from({"fault": word}),)
    try:
        entries = orjson.loads(word)
    except orjson.JSONDecodeError as error:
        raise FaultError(f"must be the name of a fault or a JSON list of faults: {error}") from error
    return tuple(fault_from(entry, where=f"[{place}]") for place, entry in enumerate(entries))


def faults_to_text(faults: Iterable[Fault]) -> str:
    """Write faults as a Cluster's annotation holds them; "" for none."""
    found = [fault.as_mapping() for fault in faults]
    return orjson.dumps(found).decode() if found else ""


def with_fault(faults: Iterable[Fault], fault: Fault) -> tuple[Fault, ...]:
    """Add a fault; one of the same kind and place is replaced by it."""
    return (*(one for one in faults if not one.same_as(fault)), fault)


def active(faults: Iterable[Fault], now: float) -> tuple[Fault, ...]:
    """Return the faults that are not over yet."""
    return tuple(fault for fault in faults if fault.until is None or fault.until > now)


def lasting(fault: Fault, seconds: float | None, now: float) -> Fault:
    """Return the fault ending after so many seconds, to the millisecond; None for never."""
    return fault if seconds is None else replace(fault, until=round(now + seconds, 3))


def _parameters(kind: Kind) -> list[str]:
    names = [kind.place, kind.span[0] if kind.span else "", "" if kind.rate is None else "rate"]
    return ["fault", *(name for name in names if name), *(["from"] if kind.parties is not None else []), "until"]


def _span(kind: Kind, entry: Mapping[str, Any], where: str) -> float:
    if kind.span is None:
        return 0.0
    name, default = kind.span
    try:
        seconds = parse_duration(entry.get(name, default))
    except ValueError:
        raise FaultError(f"{where}.{name}: {DURATION_RULE}, not {entry[name]!r}") from None
    if name != "skew" and seconds <= 0:
        raise FaultError(f"{where}.{name}: must be above 0, not {entry[name]!r}")
    return seconds


def _rate(kind: Kind, entry: Mapping[str, Any], where: str) -> float:
    if kind.rate is None:
        return 1.0
    rate = entry.get("rate", kind.rate)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
        raise FaultError(f"{where}.rate: must be a share above 0 and at most 1, not {rate!r}")
    return float(rate)


def _parties(kind: Kind, entry: Mapping[str, Any], where: str) -> tuple[Party, ...]:
    if kind.parties is None or "from" not in entry:
        return kind.parties or EVERYONE
    given = entry["from"] if isinstance(entry["from"], list) else [entry["from"]]
    try:
        found = [Party(one) for one in given]
    except ValueError:
        raise FaultError(f"{where}.from: must be some of {', '.join(Party)}, not {entry['from']!r}") from None
    if not found:
        raise FaultError(f"{where}.from: must name at least one of {', '.join(Party)}")
    return tuple(party for party in Party if party in found)


def _place(kind: Kind, entry: Mapping[str, Any], where: str) -> str:
    if not kind.place:
        return ""
    place = entry.get(kind.place)
    if not isinstance(place, str) or not place:
        raise FaultError(f"{where}.{kind.place}: is required and must be a {kind.place}'s name, not {place!r}")
    return place


def _until(entry: Mapping[str, Any], where: str) -> float | None:
    if entry.get("until") is None:
        return None
    try:
        return parse_timestamp(entry["until"])
    except (TypeError, ValueError):
        problem = f"must be a time such as 2026-01-31T12:00:00Z, not {entry['until']!r}"
        raise FaultError(f"{where}.until: {problem}") from None
