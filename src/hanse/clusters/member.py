"""One member of the federation as the control plane holds it: a name, and a way to have things done there."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.clusters.pulse import Pulse
from hanse.kube.client import Client


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A joined cluster; of one that is shared with others only a `namespace` may be ours, "" where everything is."""

    name: str
    client: Client
    namespace: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PullMember:
    """A joined cluster that fetches its work from the host, and tells there what became of it."""

    name: str
    host: Client
    pulse: Pulse
