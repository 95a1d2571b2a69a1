"""All HealthReports of the federation, read and found by the Service that they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hanse.api.health_reports import HEALTH_REPORTS, checker_lease, checker_of, report_key
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj
from hanse.services.health.targets import Report, read_report, service_of


class Reports:
    """What every checker says of every Service, as of a moment ago."""

    def __init__(self, host: Client) -> None:
        self.cache = Cache(host, HEALTH_REPORTS)
        self._by_service: dict[Key, dict[Key, Report]] = {}
        self._listeners: list[Callable[[Key], None]] = []
        self.cache.subscribe(self._changed)

    async def run(self) -> None:
        """Follow them until cancelled."""
        await self.cache.run()

    def subscribe(self, listener: Callable[[Key], None]) -> None:
        """Call `listener` with a Service when somebody says something else of it."""
        self._listeners.append(listener)

    @property
    def services(self) -> frozenset[Key]:
        """The Services of which there is a report."""
        return frozenset(self._by_service)

    def sessions(self) -> set[tuple[Key, str]]:
        """Return which run of which checker, by its Lease, has told anything."""
        return {(lease, report.session) for reports in self._by_service.values() for lease, report in reports.items()}

    def of(self, service: Key) -> Mapping[Key, Report]:
        """Return the reports on a Service, each under the Lease of its checker."""
        return self._by_service.get(service, {})

    def _changed(self, change: Change) -> None:
        obj = change.new or change.old or {}
        service, lease = service_of(obj), _lease_of(obj)
        if lease is None:
            return
        reports = self._by_service.setdefault(service, {})
        before = reports.pop(lease, None)
        if change.new is not None:
            reports[lease] = read_report(change.new)
        if not reports:
            del self._by_service[service]
        if before is None or before != reports.get(lease):
            for listener in self._listeners:
                listener(service)


def _lease_of(obj: Obj) -> Key | None:
    """Return the Lease that says whether a report counts; None for one that is not where its checker's are.

    What a cluster's own account could write in another's name is nobody's.
    """
    namespace, checker = obj["metadata"]["namespace"], obj["spec"]["checker"]
    lease = checker_lease(checker, namespace)
    rightly = obj["metadata"]["name"] == report_key(namespace, checker, service_of(obj)).name
    return lease if rightly and checker_of(lease) == checker else None
