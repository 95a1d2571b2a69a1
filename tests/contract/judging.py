"""Plays the script on both servers and holds what differs against the table of known differences."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.contract.comparing import Difference, differences
from tests.contract.embedded import embedded_server
from tests.contract.known import Known
from tests.contract.normalising import normalised
from tests.contract.playing import Played, Server, play_all
from tests.contract.shape import JUDGE
from tests.contract.step import Step
from tests.kubernetes.real import RealCluster, real_clusters


@dataclass(frozen=True, slots=True)
class Found:
    """One difference in the answer to one request."""

    request: str
    difference: Difference

    def __str__(self) -> str:
        told = self.difference
        return f"{self.request}: {told.path}\n    real:     {told.real[:600]}\n    embedded: {told.embedded[:600]}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the table does not know, and what of it no longer holds."""

    unlisted: list[Found]
    stale: list[Known]


def play_both(steps: Sequence[Step], folder: Path) -> list[Found]:
    """Return every difference between the two servers' answers."""
    with real_clusters({"contract": JUDGE}) as clusters:
        real = asyncio.run(play_all(address_of(clusters["contract"]), steps))
    embedded = asyncio.run(_play_embedded(steps, folder))
    return found_between(real, embedded, steps)


def found_between(real: Mapping[str, Played], embedded: Mapping[str, Played], steps: Iterable[Step]) -> list[Found]:
    """Compare answers request by request."""
    return [
        Found(step.name, difference)
        for step in steps
        for difference in differences(normalised(real[step.name]), normalised(embedded[step.name]))
    ]


def judge(found: Sequence[Found], table: Sequence[Known]) -> Verdict:
    """Hold differences against the table, both ways."""
    covering = [[row for row in table if row.covers(one.request, one.difference.path)] for one in found]
    used = {id(row) for rows in covering for row in rows}
    return Verdict(
        [one for one, rows in zip(found, covering, strict=True) if not rows],
        [row for row in table if id(row) not in used],
    )


def idle_parts(found: Sequence[Found], table: Sequence[Known]) -> list[Known]:
    """Return the names and paths of rows that cover nothing: a row must not say more than what differs."""
    parts = [part for row in table for part in row.parts()]
    return [part for part in parts if not any(part.covers(one.request, one.difference.path) for one in found)]


def address_of(cluster: RealCluster) -> Server:
    """Return where a real cluster is, and its administrator's token."""
    return Server(cluster.server, (cluster.folder / "ca.crt").read_text(), cluster.token)


async def _play_embedded(steps: Sequence[Step], folder: Path) -> dict[str, Played]:
    async with embedded_server(folder) as server:
        return await play_all(server, steps)
