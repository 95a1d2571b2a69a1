"""The clusters as columns: sets of clusters are bits of an integer, amounts are lists.

A question about a thousand clusters is then a handful of operations, and its answer is remembered until a cluster
changes. A cluster that changes costs its own labels; one that joins or leaves costs a new index.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from hanse.kube.selectors import Requirement
from hanse.placement.ask import ClusterTerm
from hanse.placement.candidate import Amounts, Candidate
from hanse.placement.hashing import HashLanes

Q = TypeVar("Q")
A = TypeVar("A")

# Remembered answers are few in a real federation: as many as there are different questions.
_REMEMBERED = 4096


class Fleet:
    """The registered clusters in order of name, indexed for placement; a cluster's place in that order is its slot."""

    def __init__(self, candidates: Iterable[Candidate] = ()) -> None:
        by_name = {candidate.name: candidate for candidate in candidates}
        self._candidates = [by_name[name] for name in sorted(by_name)]
        self._index()

    def __len__(self) -> int:
        return len(self._candidates)

    def __getitem__(self, slot: int) -> Candidate:
        return self._candidates[slot]

    @property
    def candidates(self) -> Sequence[Candidate]:
        """Every cluster, in order of name."""
        return self._candidates

    def put(self, candidate: Candidate) -> None:
        """Take a cluster in, or what is new of it."""
        slot = self.slot(candidate.name)
        if slot is None:
            self._candidates.append(candidate)
            self._candidates.sort(key=lambda each: each.name)
            self._index()
        elif self._candidates[slot] != candidate:
            self._erase(slot)
            self._candidates[slot] = candidate
            self._enter(slot)
            self._forget()

    def remove(self, name: str) -> None:
        """Let a cluster go."""
        slot = self.slot(name)
        if slot is not None:
            del self._candidates[slot]
            self._index()

    def slot(self, name: str) -> int | None:
        """Return a cluster's place, None where it is not registered."""
        place = bisect_left(self.names, name)
        return place if place < len(self.names) and self.names[place] == name else None

    # Sets of clusters

    def matching(self, requirement: Requirement) -> int:
        """Return the clusters whose labels fulfil a requirement."""
        found = self._matches.get(requirement)
        if found is None:
            found = self._remember(self._matches, requirement, self._match(requirement))
        return found

    def named(self, names: Iterable[str]) -> int:
        """Return the registered clusters among the names."""
        found = 0
        for name in names:
            slot = self.slot(name)
            if slot is not None:
                found |= 1 << slot
        return found

    def within(self, term: ClusterTerm) -> int:
        """Return the clusters of a term."""
        found = self._terms.get(term)
        if found is not None:
            return found
        found = self.everyone if term.names is None else self.named(term.names)
        for requirement in term.selector.requirements:
            found &= self.matching(requirement)
        return self._remember(self._terms, term, found & ~self.named(term.excluded))

    def slots(self, clusters: int) -> tuple[int, ...]:
        """Return the places of a set of clusters, in order."""
        found = self._slots.get(clusters)
        if found is None:
            bits = bin(clusters)[:1:-1]
            slots = tuple(place for place, bit in enumerate(bits) if bit == "1")
            found = self._remember(self._slots, clusters, slots)
        return found

    def parts(self, by: str) -> tuple[str, ...]:
        """Return for every cluster the part of the fleet it belongs to, "" where it cannot be told."""
        found = self._parts.get(by)
        if found is None:
            tell = _PARTS.get(by)
            names = (each.labels.get(by, "") if tell is None else tell(each) for each in self._candidates)
            found = self._remember(self._parts, by, tuple(names))
        return found

    def divided(self, by: str) -> tuple[dict[str, int], int]:
        """Return the clusters of each part of the fleet, and those of which it cannot be told."""
        found = self._divided.get(by)
        if found is None:
            sets: dict[str, int] = {}
            for slot, name in enumerate(self.parts(by)):
                sets[name] = sets.get(name, 0) | 1 << slot
            nowhere = sets.pop("", 0)
            found = self._remember(self._divided, by, (sets, nowhere))
        return found

    # Columns

    def hashes(self, key: str) -> tuple[int, ...]:
        """Return for every cluster the hash that breaks ties for a workload."""
        return self._lanes.followed_by(key)

    def fits(self, requests: Amounts, *, free: bool) -> tuple[int | None, ...]:
        """Return for every cluster how many replicas find room, None where it did not tell what it has."""
        question = (tuple(sorted(requests.items())), free)
        found = self._fits.get(question)
        if found is None:
            rooms = tuple(
                _fitting(candidate.free if free else candidate.capacity, requests) for candidate in self._candidates
            )
            found = self._remember(self._fits, question, rooms)
        return found

    def fits_beside(self, slot: int, requests: Amounts, taken: Amounts) -> int | None:
        """Return how many replicas find room in one cluster beside what others take of it."""
        free = self._candidates[slot].free
        rest = None if free is None else {name: have - taken.get(name, 0) for name, have in free.items()}
        return _fitting(rest, requests)

    def _index(self) -> None:
        self.names = [candidate.name for candidate in self._candidates]
        self.everyone = (1 << len(self.names)) - 1
        self.refused = self.returned = self.cordoned = self.tainted = 0
        self._having: dict[str, dict[str, int]] = {}
        self._lanes = HashLanes(self.names)
        for slot in range(len(self.names)):
            self._enter(slot)
        self._forget()

    def _forget(self) -> None:
        self._matches: dict[Requirement, int] = {}
        self._terms: dict[ClusterTerm, int] = {}
        self._slots: dict[int, tuple[int, ...]] = {}
        self._parts: dict[str, tuple[str, ...]] = {}
        self._divided: dict[str, tuple[dict[str, int], int]] = {}
        self._fits: dict[tuple[tuple[tuple[str, int], ...], bool], tuple[int | None, ...]] = {}

    @staticmethod
    def _remember(memory: dict[Q, A], question: Q, answer: A) -> A:
        if len(memory) >= _REMEMBERED:
            memory.clear()
        memory[question] = answer
        return answer

    def _enter(self, slot: int) -> None:
        candidate, bit = self._candidates[slot], 1 << slot
        for key, value in candidate.labels.items():
            values = self._having.setdefault(key, {})
            values[value] = values.get(value, 0) | bit
        if candidate.refusal:
            self.refused |= bit
        elif candidate.returned is not None:
            self.returned |= bit
        if candidate.cordoned:
            self.cordoned |= bit
        if candidate.taints:
            self.tainted |= bit

    def _erase(self, slot: int) -> None:
        others = ~(1 << slot)
        for key, value in self._candidates[slot].labels.items():
            self._having[key][value] &= others
        self.refused &= others
        self.returned &= others
        self.cordoned &= others
        self.tainted &= others

    def _match(self, requirement: Requirement) -> int:
        # A requirement looks at one label only, so one cluster answers for all that have the same value.
        found = 0
        present = 0
        for value, clusters in self._having.get(requirement.key, {}).items():
            present |= clusters
            if requirement.matches({requirement.key: value}):
                found |= clusters
        if requirement.matches({}):
            found |= self.everyone & ~present
        return found


_PARTS: dict[str, Callable[[Candidate], str]] = {
    "cluster": lambda candidate: candidate.name,
    "provider": lambda candidate: candidate.provider,
    "region": lambda candidate: candidate.region,
    "zone": lambda candidate: "+".join(candidate.zones),
}


def _fitting(have: Amounts | None, requests: Amounts) -> int | None:
    if have is None:
        return None
    counted = [(name, need) for name, need in requests.items() if need > 0 and (name != "pods" or name in have)]
    if not counted:
        return None
    return max(0, min(have.get(name, 0) // need for name, need in counted))
