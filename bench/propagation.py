"""Measures Hanse's propagation on real clusters and adds the result to RESULTS.md (`make bench`).

Starts one real host and three real members, etcd with fsync, joins the members, runs `hanse controller` and
lets the harness (`bench.propagate`) write 1,000 Deployments: raw, through Hanse, and raw again. With
`--mode raw,hanse,federated,raw` the same is done through federated types, and the two front doors are compared.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.federated_results import FEDERATED_HEADING, federated_lines
from bench.results import FEDERATED, Report, append_results, result_lines
from tests.kubernetes.real import HOST, MEMBER, ClusterShape, KubectlError, RealCluster, real_clusters, wait_until

HANSE = str(Path(sys.executable).parent / "hanse")
_CONTROLLER = "hanse-controller"
_PROFILER = "py-spy"
CLUSTER_KIND = "clusters.clusterregistry.k8s.io"
REGIONS = ("us-east", "eu-west", "ap-south")


def member_shape(controllers: str) -> ClusterShape:
    """Return a member as users have it, or one whose API is all that runs."""
    shape = MEMBER if controllers == "all" else replace(MEMBER, controllers=HOST.controllers, scheduler=False)
    return replace(shape, fsync=True)


def start_control_plane(host: RealCluster, members: Sequence[RealCluster]) -> int:
    """Run `hanse controller` on the host, join every member, and return the controller's pid when all are ready."""
    pid = host.run(_CONTROLLER, [HANSE, "controller", *_reach(host)])
    try:
        _join_members(host, members)
    except (KubectlError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"{error}\nhanse controller said last:\n{host.processes.log_tail(_CONTROLLER)}") from None
    return pid


def harness_command(
    args: argparse.Namespace, host: RealCluster, members: Sequence[RealCluster], controller: int | None
) -> list[str]:
    """Return the harness's command line for these clusters."""
    command = [sys.executable, "-m", "bench.propagate", "--mode", args.mode, "--count", str(args.count)]
    command += ["--steady-count", str(args.steady_count), "--rate", str(args.rate), "--host", str(host.kubeconfig)]
    command += ["--idle", str(args.idle)]
    for member in members:
        command += ["--member", str(member.kubeconfig)]
    for cluster in (host, *members):
        pids = cluster.processes.pids
        command += ["--pid", f"apiservers={pids['kube-apiserver']}", "--pid", f"etcd={pids['etcd']}"]
    return [*command, "--pid", f"controller={controller}"] if controller else command


@contextmanager
def profiled(host: RealCluster, pid: int | None, file: Path | None) -> Iterator[None]:
    """Have py-spy look at a process a hundred times a second, and write its stacks into a file where one is named."""
    if pid is None or file is None:
        yield
        return
    host.run(_PROFILER, [_PROFILER, "record", "--format", "raw", "--output", str(file.absolute()), "--pid", str(pid)])
    yield
    host.processes.signal(_PROFILER, signal.SIGINT)
    wait_until(lambda: host.processes.exit_code(_PROFILER) is not None, seconds=60, what="py-spy has written")


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.propagation", description=__doc__)
    add = parser.add_argument
    add("--mode", default="raw,hanse,raw", help="runs of the harness, in order (default: %(default)s)")
    add("--count", type=int, default=1000, help="Deployments in the burst (default: %(default)s)")
    add("--steady-count", type=int, default=100, help="Deployments in the steady phase (default: %(default)s)")
    add("--rate", type=float, default=5.0, help="creates a second in the steady phase (default: %(default)s)")
    add("--idle", type=float, default=60.0, help="seconds of rest after the burst (default: %(default)s)")
    add(
        "--member-controllers",
        choices=("few", "all"),
        default="few",
        help="few: members store, nothing acts on what arrives, and the control plane alone is measured; "
        "all: members make ReplicaSets and pods beside it (default: %(default)s)",
    )
    add("--out", type=Path, help="write the harness's full report here as well")
    add(
        "--profile",
        type=Path,
        help="have py-spy write the controller's stacks here, for bench.flame; nothing is recorded",
    )
    return parser.parse_args()


def main() -> int:
    """Run the bench; the result is kept only when there is something to compare with raw."""
    args = parse_args()
    member = member_shape(args.member_controllers)
    with real_clusters({"federation": replace(HOST, fsync=True)} | dict.fromkeys(REGIONS, member)) as clusters:
        host, *members = clusters.values()
        through_hanse = {"hanse", FEDERATED} & set(args.mode.split(","))
        controller = start_control_plane(host, members) if through_hanse else None
        out = host.folder / "report.json"
        with profiled(host, controller, args.profile):
            run = [*harness_command(args, host, members, controller), "--out", str(out)]
            harness = subprocess.run(run, check=False)
        if not out.exists():
            return harness.returncode or 1
        text = out.read_text()
    if args.out:
        args.out.write_text(text)
    command = shlex.join(["python", "-m", "bench.propagation", *sys.argv[1:]])
    lines = record(json.loads(text), command=command, commit=commit())
    print("\n".join(lines) or "nothing to compare, nothing recorded")
    return harness.returncode


def record(report: Report, *, command: str, commit: str) -> list[str]:
    """Add a report to the tables of RESULTS.md and return their new lines."""
    lines = result_lines(report, command=command, commit=commit)
    append_results(lines)
    beside = federated_lines(report, command=command, commit=commit)
    append_results(beside, FEDERATED_HEADING)
    return [*lines, *beside]


def _join_members(host: RealCluster, members: Sequence[RealCluster]) -> None:
    crd = f"customresourcedefinition/{CLUSTER_KIND}"
    host.kubectl("wait", crd, "--for=create", "--timeout=50s")
    host.kubectl("wait", crd, "--for=condition=Established", "--timeout=50s")
    for member in members:
        join = [HANSE, "join", member.name, *_reach(member), "--host-kubeconfig", str(host.kubeconfig)]
        subprocess.run(join, check=True, stdin=subprocess.DEVNULL)
    host.kubectl("wait", CLUSTER_KIND, "--all", "--for=condition=Ready", "--timeout=50s")


def _reach(cluster: RealCluster) -> list[str]:
    return ["--kubeconfig", str(cluster.kubeconfig), "--context", cluster.name]


def commit() -> str:
    """Return the commit that is measured."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "–"


if __name__ == "__main__":
    sys.exit(main())
