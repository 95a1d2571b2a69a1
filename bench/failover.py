"""A cluster dies under a steady load of every class of client: what goes wrong for each, and for how long.

    python -m bench.failover                # a minute and a half; --silent: as a machine without power is

Prints a table for docs/reference/failover.md.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.clients.asking import Asker, dumb, dumber, dumbest, well_written
from bench.clients.browser import chromium, why_not
from bench.clients.outcomes import Outcome, outcomes
from bench.clients.scene import Scene, federation, refused_at, seconds_until
from bench.clients.silence import bound, silence

_PATIENCE_SECONDS = 120.0
_COLUMNS = (
    "client",
    "clients",
    "of these on the dead cluster",
    "requests",
    "errors",
    "clients with errors",
    "last one served again",
    "slowest answer",
)


@dataclass(frozen=True, slots=True)
class Script:
    """How many clients ask how often, and how long each act of the play takes, in seconds."""

    clients: int = 9
    every: float = 0.25
    before: float = 5.0
    # At least; it stays dead until DNS no longer names it.
    dead: float = 45.0
    after: float = 20.0
    # Whether the dead cluster falls silent instead of refusing connections.
    silent: bool = False
    browser: bool = True
    listen: int = 18080


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured: every class of clients, and how soon DNS no longer named the dead cluster."""

    victim: str
    address: str
    outcomes: list[Outcome]
    out_of_dns: float
    no_browser: str


async def play(script: Script) -> Report:
    """Start a federation, let a cluster die and come back under load, and return what clients saw."""
    with tempfile.TemporaryDirectory(prefix="hanse-failover-") as folder:
        async with federation(Path(folder), script.listen) as scene, AsyncExitStack() as stack:
            no_browser = why_not() if script.browser else "not asked for"
            askers = await _askers(scene, script.clients)
            if not no_browser:
                askers.append(await stack.enter_async_context(chromium(scene.place, Path(folder))))
            return await _perform(script, scene, askers, no_browser)


async def _askers(scene: Scene, clients: int) -> list[Asker]:
    place = scene.place
    return [
        *(well_written(place) for _ in range(clients)),
        *[await dumb(place) for _ in range(clients)],
        *[await dumber(place) for _ in range(clients)],
        *(dumbest(*scene.balancer) for _ in range(clients)),
    ]


async def _perform(script: Script, scene: Scene, askers: list[Asker], no_browser: str) -> Report:
    loop = asyncio.get_running_loop()
    asking = [asyncio.create_task(asker.keep_asking(script.every)) for asker in askers]
    try:
        await asyncio.sleep(script.before)
        victim = _victim(askers)
        address = await scene.address(victim)
        # Not awaited yet: the command ends a while after what it asks for has happened.
        killing = asyncio.create_task(scene.kill(victim))
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                died = await refused_at(address, scene.place.port)
            leaving = asyncio.create_task(seconds_until(lambda addresses: address not in addresses, scene.place))
            if script.silent:
                stack.enter_context(silence(await bound(address, scene.place.port)))
            await killing
            async with asyncio.timeout(_PATIENCE_SECONDS):
                gone = await leaving
            await asyncio.sleep(max(script.every, died + script.dead - loop.time()))
            returned = loop.time()
        await scene.heal(victim)
        await asyncio.sleep(script.after)
    finally:
        for asker, task in zip(askers, asking, strict=True):
            asker.done = True
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return Report(victim, address, outcomes(askers, victim, died, returned), gone, no_browser)


def _victim(askers: Sequence[Asker]) -> str:
    """Return the cluster that the last client is served by; where it is a browser, that one matters most."""
    found = Counter(each.cluster for each in askers[-1].tries[-3:] if each.cluster)
    return found.most_common(1)[0][0]


def table(report: Report) -> str:
    """Lay a report out as the documentation has it."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    for each in report.outcomes:
        cells = [each.kind, each.clients, each.struck, each.asked, each.errors, each.troubled, _again(each)]
        lines.append(f"| {' | '.join(map(str, cells))} | {each.slowest:.1f} s |")
    return "\n".join(lines)


def _again(outcome: Outcome) -> str:
    if not outcome.errors:
        return "never without"
    if outcome.served_again is not None:
        return f"{outcome.served_again:.1f} s"
    if outcome.after_return is not None:
        return f"{outcome.after_return:.1f} s after the cluster came back"
    return "not within the run"


def main(words: Sequence[str] | None = None) -> None:
    """Run the measurement and print it."""
    default = Script()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=default.clients, help="clients of each class")
    parser.add_argument("--every", type=float, default=default.every, help="seconds between two questions of one")
    parser.add_argument("--dead", type=float, default=default.dead, help="seconds for which the cluster is dead")
    parser.add_argument("--silent", action="store_true", help="a dead cluster does not refuse, it is silent")
    parser.add_argument("--no-browser", action="store_true", help="leave Chromium out")
    given = parser.parse_args(words)
    script = Script(given.clients, given.every, dead=given.dead, silent=given.silent, browser=not given.no_browser)
    report = asyncio.run(play(script))
    command = shlex.join(["python", "-m", "bench.failover", *(sys.argv[1:] if words is None else words)])
    print(f"{datetime.now(UTC):%Y-%m-%d}, `{command}`")
    print(f"{report.victim} died, and was out of DNS {report.out_of_dns:.1f} s later\n")
    print(table(report))
    for each in report.outcomes:
        for why in each.reasons:
            print(f"{each.kind}: {why}", file=sys.stderr)
    if report.no_browser:
        print(f"no Chromium: {report.no_browser}", file=sys.stderr)


if __name__ == "__main__":
    main()
