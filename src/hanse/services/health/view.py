"""What the checkers together say, for whoever leads clients to services."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.services.health.attendance import Attendance
from hanse.services.health.reports import Reports
from hanse.services.health.standing import State
from hanse.services.health.votes import Verdict, count_votes

__all__ = ["HealthView", "State", "Verdict"]


def _never(_cluster: str) -> bool:
    return False


class HealthView:
    """The verdict over every address, from the reports of the checkers that are there."""

    def __init__(self, host: Client, *, offline: Callable[[str], bool] = _never) -> None:
        """`offline` tells whether the registry calls a cluster Offline: that is the vote of the federation's side."""
        self.attendance = Attendance(host)
        self.reports = Reports(host)
        self._offline = offline
        # The runs of checkers that have fallen silent: what they told counts no longer, also when the checker is back.
        self._ended: set[tuple[Key, str]] = set()
        self.attendance.subscribe(self._end_sessions)

    async def run(self) -> None:
        """Follow the checkers until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.reports.run())
            tasks.create_task(self.attendance.run())

    async def wait_settled(self) -> None:
        """Wait until every checker that is there has had the time to be heard.

        Before that a verdict says little, and to act on it would undo what was decided on better knowledge.
        """
        await self.reports.cache.wait_synced()
        await self.attendance.wait_settled()
        self._end_sessions()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` when any verdict may have changed, other than by what the registry says."""
        self.reports.subscribe(lambda _service: listener())
        self.attendance.subscribe(listener)

    def verdict(self, service: Key, cluster: str, address: str) -> Verdict:
        """Return what a majority of the checkers that count says of an address of a Service in a cluster."""
        present = self.attendance.present
        votes = {
            report.checker: report.standings[cluster, address]
            for lease, report in self.reports.of(service).items()
            if lease in present and (lease, report.session) not in self._ended
            if (cluster, address) in report.standings
        }
        return count_votes(votes, offline=self._offline(cluster))

    def _end_sessions(self) -> None:
        """Let go of what those told who are not there; before everybody could be heard, nobody is missed."""
        if self.attendance.settled:
            told, present = self.reports.sessions(), self.attendance.present
            self._ended = {each for each in told if each in self._ended or each[0] not in present}
