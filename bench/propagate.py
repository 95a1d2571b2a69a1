"""Measure how fast a multi-cluster control plane propagates Deployments.

The harness talks plain Kubernetes REST to one *host* API server (where users
write) and N *member* API servers (where the objects must appear).  It creates
Deployments on the host, watches every member, and reports as JSON:

  burst    create --count Deployments as fast as --concurrency allows; time of
           the creates themselves, and time until 50 / 99 / 100 % of them exist
           in *all* members
  idle     (only with --idle) nothing is written for that many seconds
  steady   create --steady-count more at --rate per second; per-object latency
           from "request sent" and from "request acknowledged" to "exists in
           all members"
  update   change the image of every burst Deployment; time until all members
           show the new image
  delete   delete every burst Deployment; time until all members have lost it

and, for each phase, the CPU seconds and the peak RSS of the processes named
with --pid, the CPU of the harness itself, the CPU of the whole machine, and
the number of writes each API server took (etcd revisions).

All times run from the first request of the phase. After each phase the
harness waits until the API servers are quiet again (see --settle-writes), so
that a backlog of one phase does not leak into the next; that wait is reported
as `settle_s` and is never part of a time to 50 / 99 / 100 %.

Modes
-----
`--mode` is a comma-separated list; each entry is one full run, in order, and
all of them go into one report. `--mode raw,hanse,raw` brackets a run with the
limit of the machine, and `ratios` then compares it with the mean of all raw
runs of the report. `--mode raw,hanse,federated,raw` sets both of Hanse's front
doors side by side: `to_native` compares the second with the first.

  raw       the harness writes the Deployments straight into every member:
            what the API servers (and this client) can take with no control
            plane between them
  hanse     Deployments on the host, nothing else
  federated FederatedDeployments on the host, each with a Deployment as its
            template
  kubefed   FederatedDeployments in federated namespaces, for the real KubeFed
  migrated  the same, for Hanse on a host that was KubeFed's
  karmada   Deployments on the host, one PropagationPolicy per namespace
  FILE:NAME a Mode defined in another Python file

A Mode is two functions: `shared(ctx)` creates whatever policy objects the
control plane needs, before the clock starts, and `workload(ctx, deployment)`
returns the objects to create for one Deployment. See `bench.harness.modes`;
this is a complete plug-in that wraps the Deployment into a custom resource:

    from bench.harness.modes import Mode, json_patch
    from bench.harness.rest import path_of

    def workload(ctx, deployment):
        meta = deployment["metadata"]
        return [{"apiVersion": "fed.example/v1", "kind": "FederatedDeployment",
                 "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
                 "spec": {"template": deployment}}]

    def set_image(ctx, objects, image):
        return [json_patch(path_of(objects[0]),
                "/spec/template/spec/template/spec/containers/0/image", image)]

    MODE = Mode(workload=workload, set_image=set_image)

Example
-------
    python -m bench.propagate --host host.kubeconfig --member m1.kubeconfig \\
        --member m2.kubeconfig --member m3.kubeconfig --mode raw,hanse,raw \\
        --count 200 --namespaces 5 --rate 5 --pid controller=1234 --out run.json

Needs Python 3.11, aiohttp, PyYAML and psutil.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from bench.harness.metering import Processes
from bench.harness.modes import load_mode
from bench.harness.phases import Run
from bench.harness.rest import Api, Manifest
from bench.results import FEDERATED

COMPARED = (
    ("burst", "requests_wall_s"),
    ("burst", "t50_s"),
    ("burst", "t99_s"),
    ("burst", "t100_s"),
    ("update", "t50_s"),
    ("update", "t99_s"),
    ("update", "t100_s"),
    ("delete", "t50_s"),
    ("delete", "t99_s"),
    ("delete", "t100_s"),
    ("steady", "sent_to_all_members", "p50_ms"),
    ("steady", "sent_to_all_members", "p99_ms"),
)


def ratios(runs: list[Manifest]) -> list[Manifest]:
    """Every other mode's times as multiples of the mean of the raw runs."""
    return _ratios([run for run in runs if run["mode"] != "raw"], runs, "raw")


def to_native(runs: list[Manifest]) -> list[Manifest]:
    """The times of federated types as multiples of the mean of the runs with plain objects."""
    return _ratios([run for run in runs if run["mode"] == FEDERATED], runs, "hanse")


def _ratios(compared: list[Manifest], runs: list[Manifest], base: str) -> list[Manifest]:
    bases = [run["phases"] for run in runs if run["mode"] == base]
    return [
        {"mode": run["mode"], "run": run["run"], f"{base}_runs": len(bases)} | _against(run["phases"], bases)
        for run in compared
        if bases
    ]


def _against(own: Manifest, bases: list[Manifest]) -> dict[str, float]:
    result = {}
    for phase, *keys in COMPARED:
        value = _reach(own, phase, *keys)
        base = [found for found in (_reach(each, phase, *keys) for each in bases) if found]
        if value is not None and len(base) == len(bases):
            result[f"{phase}.{keys[-1]}"] = round(value / (sum(base) / len(base)), 2)
    return result


def _reach(phases: Manifest, *keys: str) -> float | None:
    found: Any = phases
    for key in keys:
        found = found.get(key) or {}
    return found or None


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--host", required=True, help="kubeconfig of the API server users write to")
    add("--member", action="append", required=True, help="kubeconfig of a member (repeat)")
    add("--mode", required=True, help="comma-separated: raw, hanse, federated, karmada, FILE:NAME")
    add("--count", type=int, default=200, help="Deployments in the burst")
    add("--namespaces", type=int, default=5, help="namespaces they are spread over")
    add("--concurrency", type=int, default=64, help="requests in flight in a wave")
    add("--rate", type=float, default=5.0, help="creates per second in the steady phase")
    add("--steady-count", type=int, default=100, help="Deployments in the steady phase")
    add(
        "--phases",
        default="burst,steady,update,delete",
        help="burst always runs; steady, update and delete only if named",
    )
    add("--idle", type=float, default=0.0, help="seconds to measure at rest after the burst")
    add("--keep", action="store_true", help="leave the Deployments in place")
    add("--pid", action="append", default=[], metavar="NAME=PID[,PID]", help="processes to account for")
    add("--settle-writes", type=float, default=5.0, help="an API server below this many writes/s for 3 s is quiet")
    add("--settle-max", type=float, default=300.0, help="longest wait for quiet, seconds")
    add("--timeout", type=float, default=1800.0, help="longest wait for one wave, seconds")
    add("--label", default="", help="free text for the report")
    add("--out", help="write the report here instead of to standard output")
    args = parser.parse_args()
    args.phases = args.phases.split(",")
    if args.count < 1 or args.namespaces < 1 or args.rate <= 0:
        parser.error("--count, --namespaces and --rate must be positive")
    return args


async def measure(args: argparse.Namespace) -> Manifest:
    """Run every mode in order and return the report."""
    modes = [(name, load_mode(name)) for name in args.mode.split(",")]
    host = Api("host", args.host, args.concurrency + 8)
    members = [Api(f"member{index}", path, args.concurrency + 8) for index, path in enumerate(args.member, start=1)]
    processes = Processes(args.pid)
    processes.start()
    started, runs = time.strftime("%Y-%m-%dT%H:%M:%S%z"), []
    try:
        for name, mode in modes:
            runs.append(await Run(name, mode, args, host, members, processes).execute())
    finally:
        await processes.stop()
        for api in (host, *members):
            await api.close()
    # Paths and pids say nothing to whoever reads the report on another machine.
    settings = {key: value for key, value in vars(args).items() if key not in ("host", "member", "pid", "out", "label")}
    return {
        "started": started,
        "label": args.label,
        "machine": {
            "cores": psutil.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
            "python": platform.python_version(),
            "kernel": platform.release(),
        },
        "settings": settings | {"members": len(members)},
        "runs": runs,
        "ratios": ratios(runs),
        "to_native": to_native(runs),
    }


def main() -> int:
    """Measure, write the report, and fail unless every phase completed."""
    args = parse_args()
    report = asyncio.run(measure(args))
    text = json.dumps(report, indent=1)
    if args.out:
        Path(args.out).write_text(text + "\n")
    else:
        print(text)
    return 0 if all(phase.get("complete", True) for run in report["runs"] for phase in run["phases"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
