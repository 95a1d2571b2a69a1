"""Measures the built-in DNS server beside CoreDNS and Knot in one run, and adds the ratios to RESULTS.md.

    python -m bench.dns [--names 10000] [--seconds 10] [--rate 5000]

One server after the other, each with the same zone, asked by dnsperf for the hostnames of services in three clusters.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.dns_servers import Server, builtin, coredns, knot, service_name
from bench.harness.rest import log
from bench.results import append_results, line

_SERVERS: dict[str, Callable[[int], AbstractContextManager[Server]]] = {
    "built-in": builtin,
    "CoreDNS": coredns,
    "Knot": knot,
}
_OURS = "built-in"
_COLUMNS = (
    "date",
    "commit",
    "command",
    "built-in questions/s",
    "CoreDNS (ratio)",
    "Knot (ratio)",
    "P50 / P99 ms at the rate: built-in",
    "CoreDNS",
    "Knot",
    "CPU µs a question: built-in / CoreDNS / Knot",
    "MB: built-in / CoreDNS / Knot",
)
_HEADING = f"""# DNS: the built-in server beside CoreDNS and Knot

One run, one server after the other, each with the same zone: services in three clusters, asked for by the name that
clients are told, 3 addresses an answer, EDNS. questions/s: dnsperf over UDP on the same machine as fast as it goes;
ratio: the built-in server's part of the other's. P50 and P99 at the rate that the command names, 5,000 a second by
default. CPU: processor time of the server for each question at full speed. The built-in server is one process of
Python and orders every answer for its asker; the others answer everybody alike, Knot with as many threads as there
are processors.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""
_RATE = re.compile(r"Queries per second:\s+([\d.]+)")
_LOST = re.compile(r"Queries lost:\s+(\d+)")
_LATENCY = re.compile(r"^> NOERROR \S+ A ([\d.]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one server did."""

    rate: float
    lost: int
    p50_ms: float
    p99_ms: float
    cpu_us: float
    megabytes: float


def measure(server: Server, questions: Path, seconds: float, rate: int) -> Measured:
    """Ask a server as fast as it goes, then at a fixed rate."""
    _dnsperf(server, questions, "-l", "1")
    before = server.cpu_seconds()
    told = _dnsperf(server, questions, "-l", str(seconds))
    used = server.cpu_seconds() - before
    full = float(_found(_RATE, told))
    slow = _dnsperf(server, questions, "-l", str(seconds), "-Q", str(rate), "-v")
    delays = sorted(float(delay) * 1000 for delay in _LATENCY.findall(slow))
    return Measured(
        rate=full,
        lost=int(_found(_LOST, told)),
        p50_ms=delays[len(delays) // 2],
        p99_ms=delays[int(len(delays) * 0.99)],
        cpu_us=used / (full * seconds) * 1e6,
        megabytes=server.megabytes(),
    )


def _dnsperf(server: Server, questions: Path, *options: str) -> str:
    argv = ["dnsperf", "-s", "127.0.0.1", "-p", str(server.port), "-d", str(questions), "-e", "-c", "8", *options]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def _found(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"dnsperf printed no {pattern.pattern!r}")
    return found[1]


def result_line(measured: dict[str, Measured | None], *, date: str, commit: str, command: str) -> str:
    """Return the run as a line of RESULTS.md; what was not there is a dash."""
    ours = measured[_OURS]
    assert ours is not None
    others = [measured.get(name) for name in ("CoreDNS", "Knot")]
    every = [ours, *others]
    return line(
        [
            date,
            commit,
            f"`{command}`",
            f"{ours.rate:,.0f}",
            *("–" if each is None else f"{each.rate:,.0f} ({ours.rate / each.rate:.2f})" for each in others),
            *("–" if each is None else f"{each.p50_ms:.2f} / {each.p99_ms:.2f}" for each in every),
            " / ".join("–" if each is None else f"{each.cpu_us:.1f}" for each in every),
            " / ".join("–" if each is None else f"{each.megabytes:.0f}" for each in every),
        ]
    )


def main() -> int:
    """Run the bench, print its figures and keep its result."""
    parser = argparse.ArgumentParser(prog="python -m bench.dns", description=__doc__)
    parser.add_argument("--names", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=int, default=5_000)
    parser.add_argument("--dry", action="store_true", help="print the figures and keep nothing")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hanse-bench-dns-") as folder:
        questions = Path(folder) / "questions"
        numbers = list(range(args.names))
        Random(1).shuffle(numbers)
        questions.write_text("".join(f"{service_name(number)} A\n" for number in numbers))
        measured = {name: _measured(name, questions, args) for name in _SERVERS}
    command = shlex.join(["python", "-m", "bench.dns", *sys.argv[1:]])
    told = result_line(measured, date=time.strftime("%Y-%m-%d"), commit=_commit(), command=command)
    print(told)
    if not args.dry:
        append_results([told], _HEADING)
    return 0


def _measured(name: str, questions: Path, args: argparse.Namespace) -> Measured | None:
    log(f"starting {name} with {args.names:,} services")
    try:
        with _SERVERS[name](args.names) as server:
            found = measure(server, questions, args.seconds, args.rate)
    except FileNotFoundError as error:
        log(f"left out: {error}")
        return None
    log(f"{name}: {found.rate:,.0f} questions/s ({found.lost} lost), P99 {found.p99_ms:.2f} ms at {args.rate:,}/s")
    return found


def _commit() -> str:
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "–"


if __name__ == "__main__":
    sys.exit(main())
