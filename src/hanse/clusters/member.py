"""One member of the federation as the control plane holds it: a name and a way to reach it."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.client import Client


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A joined cluster."""

    name: str
    client: Client
