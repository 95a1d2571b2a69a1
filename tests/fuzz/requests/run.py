"""The run: cases one after the other, each judged, the server's memory watched all the while."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.requests.case import Ending, Sent
from tests.fuzz.requests.making import case_of
from tests.fuzz.requests.served import Served, served
from tests.fuzz.requests.wire import ANSWER_SECONDS, Outcome
from tests.fuzz.watched import grown

# Refusals in these words have a code of 500 and more upstream too (tests/contract holds them equal).
AS_UPSTREAM = (
    b"failed to create typed patch object",
    b"Too large resource version",
    b"failed calling webhook",
    b"error dialing backend",
    # What a webhook or a mutating policy makes of an object.
    b"Internal error occurred: json: cannot unmarshal",
)
_TOO_LARGE_VERSION = 504
SWEEP_EVERY = 5000
_TRICKLE_EVERY = 200
# Of a run's second half; the first one loads what is loaded on first use.
GROWTH_MEGABYTES = 48.0


@dataclass(slots=True)
class Tally:
    """What a run has seen."""

    cases: int = 0
    requests: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    as_upstream: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def run(seed: int, count: int, *, most_faults: int = 20) -> Tally:
    """Play the cases of `count` seeds from `seed` on."""
    tally = Tally()
    with served() as server:
        server.prepare()
        for number in range(seed, seed + count):
            if (number - seed) % SWEEP_EVERY == 0 and number > seed:
                _rest(server, tally)
            if number % _TRICKLE_EVERY == 0:
                server.wire.trickle()
            _play(server, number, tally)
            if len(tally.faults) >= most_faults or not server.alive:
                break
        _finish(server, tally, f"--seed {seed} --count {count}")
    return tally


def _play(server: Served, number: int, tally: Tally) -> None:
    tally.cases += 1
    before = len(server.troubles()) if tally.cases % 500 == 0 else -1
    for sent in case_of(number):
        outcome = server.wire.send(sent)
        tally.requests += 1
        tally.codes[_class(outcome)] += 1
        tally.slowest = max(tally.slowest, outcome.seconds)
        fault = judged(sent, outcome)
        if fault:
            tally.faults.append(_told(number, sent, fault))
        elif outcome.code >= 500:
            tally.as_upstream[_words(outcome)] += 1
        if not server.alive:
            tally.faults.append(_told(number, sent, "the server is gone"))
            return
    if before > 0:
        tally.faults.append(f"the log tells of a fault by case {number}")


def judged(sent: Sent, outcome: Outcome) -> str:
    """Return what is wrong with an outcome, "" if nothing is."""
    if outcome.hung:
        return f"no end within {ANSWER_SECONDS:g} s"
    if sent.method == "HEAD" and outcome.code == _TOO_LARGE_VERSION:
        # An answer without a body says by its code alone why it is one.
        return ""
    if outcome.code >= 500 and not any(words in outcome.body for words in AS_UPSTREAM):
        return f"answered {outcome.code}: {outcome.body[:600].decode(errors='replace')}"
    if sent.ending is Ending.ANSWER and outcome.code == 0:
        return f"no answer: {outcome.body.decode(errors='replace')}"
    return ""


def _rest(server: Served, tally: Tally) -> None:
    server.sweep()
    tally.memory.append(server.megabytes())
    sys.stderr.write(
        f"{tally.cases} cases, {tally.requests} requests, {dict(sorted(tally.codes.items()))}, slowest "
        f"{tally.slowest:.2f} s, {tally.memory[-1]:.0f} MB, faults: {len(tally.faults)}\n"
    )
    server.refill()


def _finish(server: Served, tally: Tally, command: str) -> None:
    again = f"python -m tests.fuzz requests {command}"
    if not server.alive:
        tally.faults.append(f"the server is gone: {again}")
        return
    _rest(server, tally)
    server.wire.close()
    deadline = time.monotonic() + ANSWER_SECONDS
    while server.connections() and time.monotonic() < deadline:
        time.sleep(0.05)
    if server.connections():
        tally.faults.append(f"{server.connections()} connections stay open: {again}")
    if not server.healthy():
        tally.faults.append(f"the server is not ready any more: {again}")
    if server.troubles():
        tally.faults.append(f"the log tells of {len(server.troubles())} faults: {again}\n{server.log_text()[-6000:]}")
    if (growth := grown(tally.memory)) > GROWTH_MEGABYTES:
        tally.faults.append(f"the server grew by {growth:.0f} MB: {again}")


def _told(number: int, sent: Sent, fault: str) -> str:
    shown = sent.data[:1500].decode("latin-1")
    return f"python -m tests.fuzz requests --seed {number}\n  {fault}\n  {sent.ending.value}: {shown!r}"


def _class(outcome: Outcome) -> str:
    return f"{outcome.code // 100}xx" if outcome.code else "ended"


def _words(outcome: Outcome) -> str:
    return next((words.decode() for words in AS_UPSTREAM if words in outcome.body), f"{outcome.code} without a body")
