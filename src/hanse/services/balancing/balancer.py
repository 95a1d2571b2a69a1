"""What every global balancer is: something that is told all lines, and keeps to them.

HAProxy is one (`balancing/haproxy`). A cloud's own global balancer takes its place by the same two methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hanse.services.balancing.lines import Line, Trouble


class BalancerFailure(Exception):
    """A balancer could not be brought to what it was told; what it did before goes on."""


class Balancer(Protocol):
    """Leads clients to the clusters of services."""

    async def apply(self, lines: Sequence[Line]) -> Sequence[Trouble]:
        """Do what the lines say and nothing else, without breaking a connection; raises BalancerFailure.

        Returns the lines that could not be kept, each with the reason: a port that somebody else has.
        """

    async def run(self) -> None:
        """Keep to the lines of the last `apply`, whatever happens to the balancer, until cancelled."""
