"""Who probes what: the leader writes for every published Service which checkers look after it, and how.

Checkers that have fallen silent keep what they were asked, since their word does not count until they are back, and
others of the federation are asked beside them. What nobody needs any more is removed.
"""

from __future__ import annotations

import asyncio

from hanse.api.federation import FEDERATION_NAME, FEDERATIONS, FederationError, HealthSettings, parse_federation
from hanse.api.health_reports import HEALTH_CHECK_ANNOTATION, HEALTH_REPORTS, checker_of, report_key
from hanse.api.service_addresses import MIXED_LABEL, SERVICE_ADDRESSES
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client, PatchType
from hanse.kube.controller import Controller
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, annotations_of, key_of, labels_of
from hanse.kube.resources import SERVICES
from hanse.services.addresses import parse_addresses
from hanse.services.health.check_fields import BadCheck
from hanse.services.health.checks import Check, check_for, parse_check
from hanse.services.health.choosing import choose_checkers
from hanse.services.health.targets import report_manifest, service_of, targets_of
from hanse.services.health.view import HealthView
from hanse.services.presence import Port

_NOT_UNDERSTOOD = "HealthCheckNotUnderstood"


class Assigner:
    """Keeps the spec of every HealthReport as it should be."""

    def __init__(self, host: Client, view: HealthView) -> None:
        self._host = host
        self._reports = view.reports
        self._attendance = view.attendance
        self._addresses = Cache(host, SERVICE_ADDRESSES)
        self._services = Cache(host, SERVICES, project=_annotated)
        self._federations = Cache(host, FEDERATIONS)
        self._events = EventRecorder(host, "hanse")
        # What was last said about a Service's annotation: the same is not said twice.
        self._told: dict[Key, str] = {}
        self._controller: Controller[Key] = Controller("health-checks", self._reconcile, host.runtime, workers=4)

    async def run(self) -> None:
        """Assign until cancelled; the view must run beside it."""
        async with asyncio.TaskGroup() as tasks:
            for cache in (self._addresses, self._services, self._federations):
                tasks.create_task(cache.run())
                await cache.wait_synced()
            await self._reports.cache.wait_synced()
            await self._attendance.wait_settled()
            self._addresses.subscribe(lambda change: self._controller.queue.add(change.key))
            self._services.subscribe(self._service_changed)
            self._reports.cache.subscribe(self._report_changed)
            self._attendance.subscribe(self._everything)
            self._federations.subscribe(lambda _change: self._everything())
            self._everything()
            tasks.create_task(self._controller.run())

    # What leads here

    def _service_changed(self, change: Change) -> None:
        before = annotations_of(change.old) if change.old else {}
        now = annotations_of(change.new) if change.new else {}
        if before != now and change.key in self._addresses:
            self._controller.queue.add(change.key)

    def _report_changed(self, change: Change) -> None:
        self._controller.queue.add(service_of(change.new or change.old or {}))

    def _everything(self) -> None:
        for service in {*self._addresses, *self._reports.services}:
            self._controller.queue.add(service)

    # What is asked for

    async def _reconcile(self, service: Key) -> None:
        wanted = await self._wanted(service)
        for key, manifest in wanted.items():
            await self._ask(key, manifest)
        for lease, report in list(self._reports.of(service).items()):
            key = report_key(lease.namespace, report.checker, service)
            if key not in wanted and (not wanted or self._is_needless(lease)):
                await self._release(key)

    async def _wanted(self, service: Key) -> dict[Key, Obj]:
        found = self._addresses.get(service)
        if found is not None and MIXED_LABEL in labels_of(found):
            # What it was mixed from is probed.
            return {}
        federated = parse_addresses(found) if found is not None else None
        targets = targets_of(federated) if federated else ()
        check = await self._check_for(service, federated.ports) if federated and targets else None
        if check is None:
            return {}
        # Where two are called the same, one of them is asked: a name is one vote.
        leases = {checker_of(lease): lease for lease in sorted(self._attendance.present)}
        manifests = (
            report_manifest(leases[checker].namespace, checker, service, check, targets)
            for checker in choose_checkers(leases, service)
        )
        return {key_of(manifest): manifest for manifest in manifests}

    def _is_needless(self, lease: Key) -> bool:
        """Tell whether a report may go: another was chosen while its checker is there, or it will not come back."""
        return lease in self._attendance.present or not self._attendance.known(lease)

    async def _check_for(self, service: Key, ports: tuple[Port, ...]) -> Check | None:
        """Return how a Service is probed; one whose annotation says nonsense is probed as before, which is said."""
        obj = self._services.get(service)
        try:
            check = check_for(annotations_of(obj or _NOBODY).get(HEALTH_CHECK_ANNOTATION), ports, self._terms())
        except BadCheck as error:
            if obj is not None and self._told.get(service) != str(error):
                self._told[service] = str(error)
                await self._events.record(obj, _NOT_UNDERSTOOD, f"{error}; it is probed as before", warning=True)
            return self._as_before(service) or check_for(None, ports, self._terms())
        self._told.pop(service, None)
        return check

    def _as_before(self, service: Key) -> Check | None:
        for lease, report in list(self._reports.of(service).items()):
            known = self._reports.cache.get(report_key(lease.namespace, report.checker, service))
            if known is not None:
                return parse_check(known["spec"]["check"])
        return None

    def _terms(self) -> HealthSettings:
        federation = self._federations.get(Key("", FEDERATION_NAME))
        try:
            return parse_federation(federation).health if federation is not None else HealthSettings()
        except FederationError:
            # Whoever gives services their names says so, on the Federation itself.
            return HealthSettings()

    # What is written

    async def _ask(self, key: Key, manifest: Obj) -> None:
        known = self._reports.cache.get(key)
        if known is not None and known["spec"] == manifest["spec"]:
            return
        try:
            if known is None:
                written = await self._host.create(HEALTH_REPORTS, manifest)
            else:
                patch = [{"op": "replace", "path": "/spec", "value": manifest["spec"]}]
                written = await self._host.patch(
                    HEALTH_REPORTS, key.name, patch, key.namespace, patch_type=PatchType.JSON
                )
        except (AlreadyExists, NotFound):
            # The cache will have what is there in a moment, and lead here again.
            return
        self._reports.cache.remember(written)

    async def _release(self, key: Key) -> None:
        try:
            await self._host.delete(HEALTH_REPORTS, key.name, key.namespace)
        except NotFound:
            return


_NOBODY: Obj = {"metadata": {}}


def _annotated(service: Obj) -> Obj:
    """Keep of a Service what says how it is probed."""
    metadata = service["metadata"]
    said = annotations_of(service).get(HEALTH_CHECK_ANNOTATION)
    kept = {name: metadata[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in metadata}
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": kept | ({"annotations": {HEALTH_CHECK_ANNOTATION: said}} if said is not None else {}),
    }
