"""Systems that are wrong in one way each, so that it can be seen whether the rules would notice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hanse.api.federation import HealthSettings
from hanse.kube.manifest import Key
from hanse.services.health.standing import State
from hanse.services.health.view import HealthView
from hanse.services.health.votes import Verdict, count_votes
from hanse.services.judging import Evidence, Judgement, judge
from tests.simulation.health_seeds import System


class _QuorumOfOne(HealthView):
    """One checker's word is enough."""

    def verdict(self, service: Key, cluster: str, address: str) -> Verdict:
        verdict = super().verdict(service, cluster, address)
        return replace(verdict, state=State.DEAD) if verdict.dead else verdict


class _EverybodyCounts(HealthView):
    """The last word of a checker counts for ever."""

    def verdict(self, service: Key, cluster: str, address: str) -> Verdict:
        reports = self.reports.of(service).values()
        votes = {
            each.checker: each.standings[cluster, address] for each in reports if (cluster, address) in each.standings
        }
        return count_votes(votes, offline=self._offline(cluster))


def _fail_closed(evidence: Iterable[Evidence]) -> Judgement:
    judgement = judge(evidence)
    if not judgement.failed_open:
        return judgement
    return Judgement(tuple(replace(each, serving=False) for each in judgement.presences))


BROKEN = {
    "quorum-of-one": System(view=_QuorumOfOne),
    "stale-reports-count": System(view=_EverybodyCounts),
    "fail-closed": System(decide=_fail_closed),
    "no-hysteresis": System(terms=HealthSettings(1.0, 0.5, fall=1, rise=1)),
}
