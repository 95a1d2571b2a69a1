"""Route 53's own health checks for the sets that Hanse publishes: made with their set, and gone after it.

A check is known by its caller reference, which follows from whose it is, the address and what is asked; so nothing is
remembered between runs, and a check that a crash left behind is found by its reference and removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import botocore.exceptions

from hanse.api.dns_zones import HealthCheckSettings
from hanse.services.providers.route53_api import ApiSet, Route53Client, SetKey
from hanse.services.providers.route53_sets import check_text

_DIGITS = 20


class HealthChecks:
    """The health checks of one owner."""

    def __init__(self, client: Route53Client, owner: str, settings: HealthCheckSettings | None) -> None:
        self._client = client
        self._settings = settings
        self._prefix = f"hanse-{_digest(owner)}-"
        # By caller reference, None until they were listed.
        self._known: dict[str, str] | None = None

    def of(self, sets: Mapping[SetKey, ApiSet]) -> dict[SetKey, str]:
        """Return the health check of each set that has an identifier, made where there is none yet."""
        if self._settings is None:
            return {}
        return {key: self._check(_first_address(told), self._settings) for key, told in sets.items() if key[2]}

    def clean(self, used: Iterable[str]) -> None:
        """Remove this owner's checks that no set refers to."""
        kept = set(used)
        try:
            self._known = self._list()
        except botocore.exceptions.ClientError:
            # Whoever wants no health checks need not be allowed to see them; there are none to remove then.
            if self._settings is None:
                return
            raise
        for reference, check in list(self._known.items()):
            if check not in kept:
                self._client.delete_health_check(HealthCheckId=check)
                del self._known[reference]

    def _check(self, address: str, settings: HealthCheckSettings) -> str:
        if self._known is None:
            self._known = self._list()
        reference = f"{self._prefix}{_digest(address + check_text(settings))}"
        if reference not in self._known:
            made = self._client.create_health_check(
                CallerReference=reference, HealthCheckConfig=_config(address, settings)
            )
            self._known[reference] = str(made["HealthCheck"]["Id"])
        return self._known[reference]

    def _list(self) -> dict[str, str]:
        return {
            str(each["CallerReference"]): str(each["Id"])
            for page in self._client.get_paginator("list_health_checks").paginate()
            for each in page["HealthChecks"]
            if str(each["CallerReference"]).startswith(self._prefix)
        }


def _config(address: str, settings: HealthCheckSettings) -> dict[str, Any]:
    asked = {"ResourcePath": settings.path or "/"} if settings.protocol != "TCP" else {}
    return {
        "IPAddress": address,
        "Port": settings.port,
        "Type": settings.protocol,
        "RequestInterval": settings.interval_seconds,
        "FailureThreshold": settings.failures,
        **asked,
    }


def _first_address(told: ApiSet) -> str:
    return str(told["ResourceRecords"][0]["Value"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
