"""Sets propagation beside raw writes and, with PEER=kubefed, beside the real KubeFed on the same clusters.

One host and three members, all real, etcd with fsync. KubeFed comes first, is stopped and taken over by
`hanse migrate kubefed`; both are given the same FederatedDeployments. Raw runs stand at both ends.

    PEER=kubefed python -m bench.side_by_side --count 300
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.harness.rest import Manifest
from bench.propagate import ratios
from bench.propagation import CLUSTER_KIND, HANSE, REGIONS, commit, harness_command, member_shape, start_control_plane
from bench.results import append_results
from bench.side_by_side_report import SIDE_BY_SIDE_HEADING, side_by_side_lines
from tests.kubernetes.kubefed.control_plane import KubeFed
from tests.kubernetes.real import HOST, RealCluster, real_clusters

_KUBEFED = "kubefed"


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.side_by_side", description=__doc__)
    add = parser.add_argument
    add(
        "--peer",
        choices=("", _KUBEFED),
        default=os.environ.get("PEER", ""),
        help="who else is measured (default: $PEER)",
    )
    add("--count", type=int, default=300, help="Deployments in the burst (default: %(default)s)")
    add("--steady-count", type=int, default=100, help="Deployments in the steady phase (default: %(default)s)")
    add("--rate", type=float, default=5.0, help="creates a second in the steady phase (default: %(default)s)")
    add("--idle", type=float, default=20.0, help="seconds of rest after the burst (default: %(default)s)")
    add("--out", type=Path, help="write the harness's full report here as well")
    add("--dry-run", action="store_true", help="print, and record nothing")
    return parser.parse_args()


def measure(args: argparse.Namespace, host: RealCluster, members: Sequence[RealCluster]) -> list[Manifest]:
    """Run every control plane in its turn; returns the harness's runs."""
    if args.peer != _KUBEFED:
        controller = start_control_plane(host, members)
        return _harness(args, "raw,hanse,federated,raw", host, members, controller)
    kubefed = KubeFed(host)
    kubefed.install()
    kubefed.join({member.name: member for member in members})
    runs = _harness(args, "raw,kubefed", host, members, kubefed.start())
    kubefed.stop()
    return runs + _harness(args, "migrated,raw", host, members, _take_over(host))


def _take_over(host: RealCluster) -> int:
    """Make KubeFed's members those of Hanse, and return the pid of its control plane when all are ready."""
    migrate = [HANSE, "migrate", "kubefed", "--yes", "--host-kubeconfig", str(host.kubeconfig)]
    subprocess.run(migrate, check=True, stdin=subprocess.DEVNULL)
    pid = host.run("hanse-controller", [HANSE, "controller", "--kubeconfig", str(host.kubeconfig)])
    host.kubectl("wait", CLUSTER_KIND, "--all", "--for=condition=Ready", "--timeout=50s")
    return pid


def _harness(
    args: argparse.Namespace, mode: str, host: RealCluster, members: Sequence[RealCluster], controller: int
) -> list[Manifest]:
    out = host.folder / "report.json"
    out.unlink(missing_ok=True)
    asked = argparse.Namespace(**{**vars(args), "mode": mode})
    subprocess.run([*harness_command(asked, host, members, controller), "--out", str(out)], check=False)
    if not out.exists():
        raise SystemExit(f"the harness did not finish {mode}")
    runs: list[Manifest] = json.loads(out.read_text())["runs"]
    return runs


def main() -> int:
    """Measure and record."""
    args = parse_args()
    shapes = {"federation": replace(HOST, fsync=True)} | dict.fromkeys(REGIONS, member_shape("few"))
    with real_clusters(shapes) as clusters:
        host, *members = clusters.values()
        runs = measure(args, host, members)
    report = {"runs": runs, "ratios": ratios(runs)}
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")
    peer = f"PEER={args.peer} " if args.peer else ""
    command = peer + shlex.join(["python", "-m", "bench.side_by_side", "--count", str(args.count)])
    lines = side_by_side_lines(report, command=command, commit=commit())
    if not args.dry_run:
        append_results(lines, SIDE_BY_SIDE_HEADING)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
