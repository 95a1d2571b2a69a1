"""Whether clients outside are led to a release as its weight says, by what was mixed for its application. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hanse.kube.manifest import Obj, key_of
from hanse.kube.runtime import timestamp
from hanse.rollouts.targets.statuses import AS_WANTED, IN_PROGRESS, Told, Verdict, not_ready
from hanse.rollouts.weights.leaving import leaving_of
from hanse.rollouts.weights.mixing import entries_of, leads


def led(release: str, cluster: str, weight: int, mixtures: Iterable[Obj]) -> Told:
    """Judge a release in a cluster; it has the traffic that it asks for once every name of its application says so."""
    every = list(mixtures)
    if weight and not every:
        # Only a federation with a name has names to be mixed.
        why = "no address of its Service is known yet; kubectl get federation tells whether services have names"
        return Told(not_ready(IN_PROGRESS, why), {"achievedTraffic": 0})
    verdicts = [_judged(release, cluster, weight, mixture) for mixture in every]
    achieved = [_achieved(entries_of(mixture["spec"]).get((cluster, release))) for mixture in every]
    verdict = next((verdict for verdict in verdicts if not verdict.ready), AS_WANTED)
    return Told(verdict, {"achievedTraffic": min(achieved, default=0)})


def _judged(release: str, cluster: str, weight: int, mixture: Obj) -> Verdict:
    entry, name = entries_of(mixture["spec"]).get((cluster, release)), key_of(mixture)
    if weight == 0:
        return _left(release, cluster, entry, mixture)
    if entry is None:
        return not_ready(IN_PROGRESS, f"its Service has no address under which {name} could lead clients to it yet")
    if not leads(entry):
        return not_ready(IN_PROGRESS, f"{name} leads no clients to it: {entry.get('why') or 'its addresses are dead'}")
    if entry.get("asked") != weight:
        return not_ready(IN_PROGRESS, f"{name} leads clients to it by its weight of before")
    return AS_WANTED


def _left(release: str, cluster: str, entry: Obj | None, mixture: Obj) -> Verdict:
    """Judge a release that shall have no clients: resolvers that keep an answer lead some to it for a while."""
    if entry is not None and leads(entry):
        return not_ready(IN_PROGRESS, f"{key_of(mixture)} leads clients to it: {entry.get('why') or 'for the moment'}")
    until = leaving_of(mixture).get((cluster, release))
    if until is not None:
        return not_ready(IN_PROGRESS, f"answers that resolvers keep may lead clients to it until {timestamp(until)}")
    return AS_WANTED


def _achieved(entry: Obj | None) -> int:
    return int(entry.get("asked") or 0) if entry is not None and leads(entry) else 0
