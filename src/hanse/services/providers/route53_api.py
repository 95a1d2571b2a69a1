"""The calls of boto3's Route 53 client that are used, as a type: its own stubs come in a package of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

# A record set as the API writes it.
ApiSet = dict[str, Any]
# Name, type and set identifier: what Route 53 knows a set by.
SetKey = tuple[str, str, str]


class Paginator(Protocol):
    """Asks for page after page."""

    def paginate(self, **arguments: Any) -> Iterable[dict[str, Any]]:
        """Yield every page of an answer."""


class Route53Client(Protocol):
    """What boto3.client("route53") returns, as far as it is used here."""

    def get_paginator(self, operation_name: str) -> Paginator:
        """Return what asks for all pages of an operation."""

    def change_resource_record_sets(self, **arguments: Any) -> dict[str, Any]:
        """Apply a ChangeBatch."""

    def create_hosted_zone(self, **arguments: Any) -> dict[str, Any]:
        """Make a zone."""

    def create_health_check(self, **arguments: Any) -> dict[str, Any]:
        """Make a health check."""

    def delete_health_check(self, **arguments: Any) -> dict[str, Any]:
        """Remove a health check."""

    def close(self) -> None:
        """Let connections go."""
