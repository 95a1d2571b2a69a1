"""A checker: probes what HealthReports ask it to, and tells in them what it sees, when that changes.

It needs nothing but its own namespace on the host. Its Lease says that it is there; without it, it neither probes nor
tells anything. Every time that it has the Lease anew it looks at everything anew, with a leaning to what it told last,
and signs what it tells with a new session: what it had told before it fell silent counts no longer.
"""

from __future__ import annotations

import asyncio

from hanse.api.health_reports import CHECKER_LABEL, HEALTH_REPORTS, checker_lease
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client, PatchType
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.leases import Fenced, Leadership
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj
from hanse.services.health.attendance import CHECKER_TERMS
from hanse.services.health.check_fields import BadCheck
from hanse.services.health.checks import Check, parse_check
from hanse.services.health.prober import Prober
from hanse.services.health.standing import Standing, judge, resumed
from hanse.services.health.targets import Target, assigned_targets, read_report, told_status

log = Log("hanse")

# How many probes may be under way: as many sockets as that, and no more, are open at a time.
WIDTH = 256
_JITTER = 0.1
# What turns at the same moment is told at once.
_GATHERING_SECONDS = 0.2


class Checker:
    """Probes from one place, under one name."""

    def __init__(
        self,
        host: Client,
        name: str,
        prober: Prober,
        *,
        namespace: str = SYSTEM_NAMESPACE,
        identity: str = "",
        width: int = WIDTH,
    ) -> None:
        """`identity` tells processes apart that could speak under the same name; without it there is one such."""
        self.name = name
        self._lease = checker_lease(name, namespace)
        self._host = host
        self._identity = identity or name
        self._prober = prober
        self._width = width
        self._runtime = host.runtime
        self._client = host
        # Which report asks for a target, and how it is probed.
        self._asked: dict[Target, tuple[Key, Check]] = {}
        self._standings: dict[Target, Standing] = {}
        self._session = ""
        # The reports that were told something in this session.
        self._told: set[Key] = set()

    async def run(self) -> None:
        """Probe and tell until cancelled, whenever the Lease can be had."""
        while True:
            leadership = Leadership(
                self._host, self._lease, self._identity, CHECKER_TERMS, labels={CHECKER_LABEL: "true"}
            )
            self._client = Client(Fenced(self._host.transport, leadership), self._runtime)
            await leadership.lead(self._check)
            log.warning("A checker lost its Lease", checker=self.name, host=self._host.address)

    async def _check(self) -> None:
        self._reports = Cache(self._client, HEALTH_REPORTS, namespace=self._lease.namespace)
        self._probes: Controller[Target] = Controller("probes", self._probe, self._runtime, workers=self._width)
        self._telling: Controller[Key] = Controller("health-reports", self._tell, self._runtime, workers=4)
        self._session = self._runtime.name_suffix()
        self._asked, self._standings, self._told = {}, {}, set()
        self._reports.subscribe(self._report_changed)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reports.run())
            await self._reports.wait_synced()
            tasks.create_task(self._probes.run())
            tasks.create_task(self._telling.run())

    # What is asked

    def _report_changed(self, change: Change) -> None:
        report = change.new
        if (report or change.old or {})["spec"]["checker"] != self.name:
            return
        before = set(assigned_targets(change.old)) if change.old else set()
        asked = self._read(report) if report is not None else {}
        for target in before - asked.keys():
            self._asked.pop(target, None)
            self._standings.pop(target, None)
        for target, check in asked.items():
            # Those of a whole federation are not all probed at the same moment.
            if target not in self._asked:
                self._probes.queue.add_after(target, self._runtime.uniform(0, check.terms.interval_seconds))
            self._asked[target] = (change.key, check)
        if change.key in self._told:
            self._telling.queue.add(change.key)

    def _read(self, report: Obj) -> dict[Target, Check]:
        """Return what a report asks for, having taken a leaning from what it told of targets that are new here."""
        try:
            check = parse_check(report["spec"]["check"])
        except BadCheck as error:
            log.warning("A check cannot be understood", checker=self.name, error=str(error))
            return {}
        told = read_report(report).standings
        targets = assigned_targets(report)
        for target in targets:
            before = told.get((target.cluster, target.address), Standing())
            self._standings.setdefault(target, resumed(before, check.terms))
        return dict.fromkeys(targets, check)

    # What is seen

    async def _probe(self, target: Target) -> float | None:
        asked = self._asked.get(target)
        if asked is None:
            return None
        report, check = asked
        begun = self._runtime.monotonic()
        finding = await self._prober.probe(check, target.address)
        if target not in self._asked:
            return None
        before = self._standings.get(target, Standing())
        standing = self._standings[target] = judge(before, finding, check.terms)
        if standing.state is not before.state:
            log.info(
                "An address is judged anew",
                checker=self.name,
                service=str(target.service),
                member=target.cluster,
                address=target.address,
                state=standing.state,
                why=standing.why,
            )
            self._telling.queue.add_after(report, self._gathering_seconds(report, check))
        # Counted from begin to begin: an address that lets us wait is not probed more seldom by that.
        period = check.terms.interval_seconds * self._runtime.uniform(1 - _JITTER, 1 + _JITTER)
        return max(0.0, period - (self._runtime.monotonic() - begun))

    def _gathering_seconds(self, report: Key, check: Check) -> float:
        """Return how long to wait for more to tell: the first time, until everything was looked at once."""
        if report in self._told:
            return _GATHERING_SECONDS
        return check.terms.interval_seconds + check.terms.timeout_seconds

    async def _tell(self, key: Key) -> None:
        """Write what is seen where it differs from what was told."""
        report = self._reports.get(key)
        if report is None:
            return
        standings = {
            (target.cluster, target.address): self._standings[target]
            for target in assigned_targets(report)
            if target in self._standings
        }
        status = told_status(self._session, standings)
        self._told.add(key)
        if status == report.get("status"):
            return
        patch = [{"op": "add", "path": "/status", "value": status}]
        try:
            written = await self._client.patch(
                HEALTH_REPORTS, key.name, patch, key.namespace, patch_type=PatchType.JSON, subresource="status"
            )
        except NotFound:
            return
        self._reports.remember(written, quietly=True)
