"""A running federation as a test drives it: kubectl, hanse, kill -9, and clusters that die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import dns.exception
import dns.message
import dns.query
import pytest
import yaml

from tests.kubernetes.real import HOST, MEMBER, RealCluster, real_clusters, wait_until
from tests.kubernetes.real.components import CHECKOUT, find_kubectl
from tests.kubernetes.real.ports import free_port

MEMBERS = ("ap-south", "eu-west", "us-east")
HANSE = [sys.executable, "-m", "hanse"]


class Refused(Exception):
    """A command ended with an error; the text is what it wrote on standard error."""


class Federation(Protocol):
    """What the scenario needs of a federation."""

    def kubectl(self, context: str, *arguments: str, input: str | None = None) -> str: ...  # noqa: A002

    def hanse(self, *arguments: str) -> str: ...

    def fail(self, member: str) -> None: ...

    def heal(self, member: str) -> None: ...

    def kill_control_plane(self) -> None:
        """End the control plane with SIGKILL and start it again."""

    def dig(self, name: str, *options: str) -> list[str]:
        """Ask the built-in DNS server with the real `dig`; returns the lines of its short answer."""

    def renew_rights(self) -> None:
        """Give the control plane the rights in every member that newly enabled kinds need."""


def get(federation: Federation, context: str, *arguments: str) -> Any:
    """Return what `kubectl get` finds, as a manifest."""
    return json.loads(federation.kubectl(context, "get", *arguments, "--output=json"))


def ask(address: str, name: str, options: tuple[str, ...], home: Path) -> list[str]:
    """Type `dig +short` for a DNS server at HOST:PORT; one that does not answer has nothing to say."""
    host, _, port = address.rpartition(":")
    if shutil.which("dig") is None:
        return _ask_by_hand(host, int(port), name, options)
    try:
        return run(["dig", f"@{host}", "-p", port, "+short", "+time=2", name, *options], home=home).splitlines()
    except Refused:
        return []


def _ask_by_hand(host: str, port: int, name: str, options: tuple[str, ...]) -> list[str]:
    """Ask as `dig +short` does, on machines that have none; what its options mean is not known here."""
    if options:
        pytest.skip("dig is not installed (Debian: bind9-dnsutils)")
    try:
        answer = dns.query.udp(dns.message.make_query(name, "A"), host, timeout=2.0, port=port).answer
    except (dns.exception.Timeout, OSError):
        return []
    return [record.to_text() for records in answer for record in records]


def run(arguments: list[str], *, home: Path, typed: str | None = None, seconds: float = 120.0) -> str:
    """Run a command to its end and return what it prints; raises Refused."""
    environment = {**os.environ, "HOME": str(home)}
    for name in ("KUBECONFIG", "HANSE_DATA_DIR"):
        environment.pop(name, None)
    done = subprocess.run(
        arguments,
        input=typed or "",
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment,
        cwd=CHECKOUT,
        check=False,
    )
    if done.returncode:
        raise Refused(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


class EmbeddedFederation:
    """`hanse up --detach`: everything in one process."""

    def __init__(self, folder: Path) -> None:
        self.data_dir = folder / "data"
        self._home = folder
        kubectl = find_kubectl()
        if kubectl is None:
            pytest.skip("kubectl is neither built (make kubernetes) nor installed")
        self._kubectl = [str(kubectl), f"--kubeconfig={self.data_dir}/kubeconfig"]

    def up(self, *options: str) -> None:
        run([*HANSE, "up", "--detach", "--data-dir", str(self.data_dir), *options], home=self._home)

    def down(self) -> None:
        run([*HANSE, "down", "--data-dir", str(self.data_dir)], home=self._home)

    def kubectl(self, context: str, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        return run([*self._kubectl, f"--context={context}", *arguments], home=self._home, typed=input)

    def hanse(self, *arguments: str) -> str:
        return run([*HANSE, *arguments, "--data-dir", str(self.data_dir)], home=self._home)

    def fail(self, member: str) -> None:
        self.hanse("cluster", "fail", member)

    def heal(self, member: str) -> None:
        self.hanse("cluster", "heal", member)

    def kill_control_plane(self) -> None:
        os.kill(json.loads(self.hanse("status", "-o", "json"))["pid"], signal.SIGKILL)
        self.up()

    def dig(self, name: str, *options: str) -> list[str]:
        record = json.loads((self.data_dir / "federation.json").read_text())
        return ask(record["dns"], name, options, self._home)

    def renew_rights(self) -> None:
        """Nothing to do: it is the administrator of its members."""


class RealFederation:
    """Upstream Kubernetes: a dedicated host, three members with simulated nodes, and `hanse controller` beside them."""

    def __init__(self, clusters: dict[str, RealCluster], folder: Path) -> None:
        self._clusters = clusters
        self._folder = folder
        self._host = clusters["federation"]
        self._controller: subprocess.Popen[bytes] | None = None
        self._dns = f"127.0.0.1:{free_port()}"

    def start(self, providers: Mapping[str, str]) -> None:
        for index, name in enumerate(MEMBERS):
            balancers = providers.get(name, "ip")
            self._clusters[name].start_nodes(index=index, region=name, zone=f"{name}-a", load_balancers=balancers)
        self._start_controller()
        wait_until(self._serves_clusters, seconds=60, what="the Cluster kind is served")
        self.renew_rights()

    def stop(self) -> None:
        if self._controller is not None:
            self._controller.terminate()
            self._controller.wait(timeout=20)

    def kubectl(self, context: str, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        return self._clusters[context].kubectl(*arguments, input=input, seconds=120.0)

    def hanse(self, *arguments: str) -> str:
        return run([*HANSE, *arguments, "--host-kubeconfig", str(self._host.kubeconfig)], home=self._folder)

    def fail(self, member: str) -> None:
        self._clusters[member].kill()

    def heal(self, member: str) -> None:
        self._clusters[member].heal()

    def kill_control_plane(self) -> None:
        if self._controller is not None:
            self._controller.kill()
            self._controller.wait(timeout=20)
        self._start_controller()

    def dig(self, name: str, *options: str) -> list[str]:
        return ask(self._dns, name, options, self._folder)

    def renew_rights(self) -> None:
        for name in MEMBERS:
            self.hanse("join", name, "--kubeconfig", str(self._clusters[name].kubeconfig))

    def _start_controller(self) -> None:
        with (self._folder / "controller.log").open("ab") as log:
            command = [*HANSE, "controller", "--kubeconfig", str(self._host.kubeconfig), "--all-kubefed-forms"]
            command += ["--federation-name=federation", "--domain=federation.local", f"--dns-listen={self._dns}"]
            self._controller = subprocess.Popen(command, stderr=log, cwd=CHECKOUT)

    def _serves_clusters(self) -> bool:
        return "clusters" in self._host.kubectl("api-resources", "--api-group=clusterregistry.k8s.io", "-o", "name")


@contextmanager
def embedded_federation(folder: Path, providers: Mapping[str, str] | None = None) -> Iterator[EmbeddedFederation]:
    """Run an embedded federation for the length of a block; a provider says what load balancers give there."""
    federation = EmbeddedFederation(folder)
    if providers is None:
        federation.up()
    else:
        clusters = [{"name": name, "loadBalancers": provider} for name, provider in providers.items()]
        (folder / "clusters.yaml").write_text(yaml.safe_dump({"clusters": clusters}))
        federation.up("--clusters", str(folder / "clusters.yaml"))
    try:
        yield federation
    finally:
        federation.down()


@contextmanager
def real_federation(folder: Path, providers: Mapping[str, str] | None = None) -> Iterator[RealFederation]:
    """Run a federation of four real clusters for the length of a block; a provider says what load balancers give."""
    with real_clusters({"federation": HOST, **dict.fromkeys(MEMBERS, MEMBER)}) as clusters:
        federation = RealFederation(clusters, folder)
        try:
            federation.start(providers or {})
            yield federation
        finally:
            federation.stop()
