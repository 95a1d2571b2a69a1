"""Publishes into a hosted zone of Amazon Route 53.

A batch is one ChangeBatch, which Route 53 applies whole or not at all. What goes is deleted exactly as it was listed
and what comes is created, never upserted: where somebody else was faster, the batch is refused. Calls block and so run
on threads of the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import botocore.exceptions

from hanse.api.dns_zones import Route53Settings
from hanse.kube.runtime import Runtime
from hanse.services.providers.interface import Change, ProviderError, Refused, Stale, additions, removals
from hanse.services.providers.route53_api import ApiSet, Route53Client, SetKey
from hanse.services.providers.route53_checks import HealthChecks
from hanse.services.providers.route53_sets import Routing, api_sets, key_of_set, read_sets
from hanse.services.providers.texts import dotted
from hanse.services.records import RecordSet

T = TypeVar("T")

# Route 53 takes 1,000 values a request; a set that changes is both deleted and created.
_LARGEST_BATCH = 400
_STALE = ("already exists", "not found", "do not match")


class Route53:
    """A hosted zone of Route 53."""

    largest_batch = _LARGEST_BATCH

    def __init__(
        self,
        zone: str,
        settings: Route53Settings,
        client: Route53Client,
        runtime: Runtime,
        *,
        owner: str = "",
        region_of: Callable[[str], str] = lambda _cluster: "",
    ) -> None:
        """`owner` is whose health checks are cleaned up; `region_of` tells in which region a cluster is."""
        self._zone = zone
        self._zone_id = settings.zone_id
        self._client = client
        self._runtime = runtime
        self._routing = Routing(settings, region_of)
        self._checks = HealthChecks(client, f"{owner}/{zone}", settings.health)
        self._listed: dict[SetKey, ApiSet] = {}

    def stored(self, wanted: RecordSet) -> RecordSet:
        return self._routing.stored(wanted)

    async def records(self) -> list[RecordSet]:
        return await self._call(self._list)

    async def apply(self, changes: Sequence[Change]) -> None:
        await self._call(lambda: self._change(changes))

    async def close(self) -> None:
        """Let the client's connections go."""
        self._client.close()

    def _list(self) -> list[RecordSet]:
        zone_id = self._find_zone()
        pages = self._client.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone_id)
        sets: list[ApiSet] = [dict(each) for page in pages for each in page["ResourceRecordSets"]]
        self._listed = {key_of_set(each): each for each in sets}
        self._checks.clean(str(each["HealthCheckId"]) for each in sets if "HealthCheckId" in each)
        return read_sets(sets)

    def _change(self, changes: Sequence[Change]) -> None:
        gone = {key: self._listed.get(key, told) for key, told in _sets(removals(changes), {}).items()}
        checks = self._checks.of(_sets(additions(changes), {}))
        made = _sets(additions(changes), checks)
        entries = [("DELETE", told) for key, told in gone.items() if not _same(told, made.get(key))]
        entries += [("CREATE", told) for key, told in made.items() if not _same(told, gone.get(key))]
        if not entries:
            return
        batch = {"Changes": [{"Action": action, "ResourceRecordSet": told} for action, told in entries]}
        self._client.change_resource_record_sets(HostedZoneId=self._find_zone(), ChangeBatch=batch)
        for key in gone:
            self._listed.pop(key, None)
        self._listed |= made

    def _find_zone(self) -> str:
        """Return the zone's id; it is made where there is none, and refused where several could be meant."""
        if not self._zone_id:
            name = dotted(self._zone)
            pages = self._client.get_paginator("list_hosted_zones").paginate()
            found = [str(each["Id"]) for page in pages for each in page["HostedZones"] if each["Name"] == name]
            if len(found) > 1:
                ids = ", ".join(each.removeprefix("/hostedzone/") for each in sorted(found))
                raise ProviderError(f"Route 53 has several hosted zones {self._zone} ({ids}): set spec.route53.zoneID")
            if not found:
                made = self._client.create_hosted_zone(Name=name, CallerReference=self._runtime.uid())
                found = [str(made["HostedZone"]["Id"])]
            self._zone_id = found[0].removeprefix("/hostedzone/")
        return self._zone_id

    async def _call(self, function: Callable[[], T]) -> T:
        try:
            return await self._runtime.in_thread(function)
        except botocore.exceptions.ClientError as error:
            raise self._refused(error) from error
        except botocore.exceptions.BotoCoreError as error:
            raise ProviderError(f"Route 53 cannot be asked about {self._zone}: {error}") from error

    def _refused(self, error: botocore.exceptions.ClientError) -> ProviderError:
        told = error.response.get("Error", {})
        code, message = str(told.get("Code", "")), str(told.get("Message", ""))
        if code == "InvalidChangeBatch" and any(each in message for each in _STALE):
            return Stale(f"the hosted zone {self._zone} has changed since it was read: {message}")
        sort = Refused if code == "InvalidChangeBatch" else ProviderError
        return sort(f"Route 53 refuses what is asked for {self._zone} ({code}): {message}")


def _sets(records: Sequence[RecordSet], checks: dict[SetKey, str]) -> dict[SetKey, ApiSet]:
    return {key: told for record in records for key, told in api_sets(record, checks).items()}


def _same(one: ApiSet, other: ApiSet | None) -> bool:
    return other is not None and _comparable(one) == _comparable(other)


def _comparable(told: ApiSet) -> ApiSet:
    return {**told, "ResourceRecords": sorted(each["Value"] for each in told.get("ResourceRecords", ()))}
