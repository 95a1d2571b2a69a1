"""Measures the embedded API server beside a real one with etcd, in one run, and adds the ratios to RESULTS.md.

    python -m bench.apiserver [--quick]

Both sync every commit to the disk, both speak HTTPS, and the same bare client asks both, one after the other.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from bench.apiserver_measures import Extent, Measured, measure
from bench.apiserver_report import add_result, result_line, table
from bench.apiserver_servers import Running, embedded_server, real_server
from bench.harness.rest import log
from bench.results import RESULTS
from hanse.cli.running import run

# A larger burst would be lost on a kube-apiserver: it ends watches whose readers, all in one process, fall behind.
FULL = Extent(writes=3_000, listed=10_000, watchers=100, burst=200, paced=400, rate=50.0)
QUICK = Extent(writes=600, listed=2_000, watchers=100, burst=100, paced=100, rate=50.0)


def measured(name: str, start: Callable[[], AbstractContextManager[Running]], extent: Extent) -> Measured:
    """Start one server, measure it and end it."""
    log(f"starting the {name} server")
    with start() as server:
        idle = server.idle_megabytes()
        log(f"ready after {server.ready_seconds:.1f} s, {idle:.0f} MB; measuring")
        return run(lambda: measure(server, extent, idle))


def main() -> int:
    """Run the bench, print its table and keep its result."""
    parser = argparse.ArgumentParser(prog="python -m bench.apiserver", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of everything, to see that the bench works")
    args = parser.parse_args()
    extent = QUICK if args.quick else FULL
    real = measured("real", real_server, extent)
    embedded = measured("embedded", embedded_server, extent)
    print(table(real, embedded))
    command = shlex.join(["python", "-m", "bench.apiserver", *sys.argv[1:]])
    add_result(RESULTS, result_line(real, embedded, date=time.strftime("%Y-%m-%d"), commit=_commit(), command=command))
    return 0


def _commit() -> str:
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "–"


if __name__ == "__main__":
    sys.exit(main())
