"""What clusters were asked for since they last told what they have free.

A cluster tells that once a minute. When many objects look for room at the same moment, because a cluster was lost, each
must see what the others were promised meanwhile, or all of them find the same room. This is an estimate: it is
forgotten when the cluster tells anew, and a control plane that starts has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hanse.api.clusters import Cluster
from hanse.placement.candidate import Amounts
from hanse.propagation.intent import Ref


@dataclass(slots=True)
class _Account:
    """One cluster: what it told, how much each object had then, what each was promised, and the sum of that."""

    told: Mapping[str, str]
    had: dict[Ref, int] = field(default_factory=dict)
    promised: dict[Ref, Amounts] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)

    def put(self, ref: Ref, amounts: Amounts) -> None:
        for sign, each in ((-1, self.promised.pop(ref, {})), (1, amounts)):
            for name, amount in each.items():
                self.total[name] = self.total.get(name, 0) + sign * amount
        if amounts:
            self.promised[ref] = amounts


class Promises:
    """Keeps account of room that is taken but not yet seen to be."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def to_others(self, ref: Ref, clusters: Sequence[Cluster]) -> dict[str, Amounts]:
        """Return what others than this object were promised, by cluster."""
        found: dict[str, Amounts] = {}
        for cluster in clusters:
            account = self._accounts.get(cluster.name)
            if account is None or account.told != cluster.free:
                account = self._accounts[cluster.name] = _Account(cluster.free)
            own = account.promised.get(ref, {})
            others = {name: amount - own.get(name, 0) for name, amount in account.total.items()}
            if any(others.values()):
                found[cluster.name] = others
        return found

    def note(self, ref: Ref, requests: Amounts, had: Mapping[str, int], asked: Mapping[str, int]) -> None:
        """Note how many replicas an object has in each cluster and how many it is asked to have."""
        for name, account in self._accounts.items():
            if name not in asked and ref not in account.had:
                continue
            more = asked.get(name, 0) - account.had.setdefault(ref, had.get(name, 0))
            account.put(ref, {each: amount * more for each, amount in requests.items()} if more > 0 else {})

    def forget(self, ref: Ref) -> None:
        """Forget an object that is gone."""
        for account in self._accounts.values():
            account.put(ref, {})
            account.had.pop(ref, None)
