"""The command lines of a real cluster's components, as functions of its layout and shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# On the federation's host nothing may act on workloads; of the controllers only those run without which
# namespaces would never end, owned objects would stay, and service accounts could not sign in.
_HOST_CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
)


# The socket of a cluster with tunnels.
TUNNELS = "tunnels.sock"


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """Which of Kubernetes' own loops a cluster runs, and whether its storage survives a power cut.

    With `tunnels` the API server reaches the pods of simulated nodes, without which it then reaches nothing at all.
    """

    controllers: tuple[str, ...] = ("*",)
    scheduler: bool = True
    fsync: bool = False
    tunnels: bool = False


MEMBER = ClusterShape()
"""A cluster as users have it: all controllers and a scheduler."""

HOST = ClusterShape(controllers=_HOST_CONTROLLERS, scheduler=False)
"""A dedicated federation host: an API that stores, and nothing that acts on workloads."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a cluster's files are and which loopback ports it uses."""

    folder: Path
    etcd_port: int
    etcd_peer_port: int
    api_port: int

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://127.0.0.1:{self.api_port}"

    def file(self, name: str) -> Path:
        """Return the path of one of the cluster's files."""
        return self.folder / name


def etcd_flags(layout: Layout, shape: ClusterShape) -> list[str]:
    """Return the arguments of the cluster's only etcd member."""
    client = f"http://127.0.0.1:{layout.etcd_port}"
    peer = f"http://127.0.0.1:{layout.etcd_peer_port}"
    flags = {
        "name": "default",
        "data-dir": layout.file("etcd"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": "false" if shape.fsync else "true",
        "log-level": "warn",
    }
    return _arguments(flags)


def egress_selection(layout: Layout) -> str:
    """Return the configuration by which the API server dials everything in its cluster through a socket."""
    transport = {"uds": {"udsName": str(layout.file(TUNNELS))}}
    connection = {"proxyProtocol": "HTTPConnect", "transport": transport}
    return json.dumps(
        {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }
    )


def apiserver_flags(layout: Layout, shape: ClusterShape = MEMBER) -> list[str]:
    """Return the arguments of the API server: TLS, client certificates, tokens, RBAC."""
    return _arguments(
        {
            "etcd-servers": f"http://127.0.0.1:{layout.etcd_port}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": layout.api_port,
            # An Endpoints object must not name a loopback address, and nothing here looks for one.
            "endpoint-reconciler-type": "none",
            "cert-dir": layout.folder,
            "tls-cert-file": layout.file("serving.crt"),
            "tls-private-key-file": layout.file("serving.key"),
            "client-ca-file": layout.file("ca.crt"),
            "kubelet-client-certificate": layout.file("kubelet-client.crt"),
            "kubelet-client-key": layout.file("kubelet-client.key"),
            "token-auth-file": layout.file("tokens.csv"),
            "authorization-mode": "Node,RBAC",
            "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
            "service-account-key-file": layout.file("service-accounts.pub"),
            "service-account-signing-key-file": layout.file("service-accounts.key"),
            "service-cluster-ip-range": "10.96.0.0/16",
            "allow-privileged": "true",
            "profiling": "false",
            **({"egress-selector-config-file": layout.file("egress.json")} if shape.tunnels else {}),
        }
    )


def controller_manager_flags(layout: Layout, shape: ClusterShape) -> list[str]:
    """Return the arguments of kube-controller-manager with the shape's controllers."""
    return _arguments(
        {
            "kubeconfig": layout.file("kube-controller-manager.kubeconfig"),
            "controllers": ",".join(shape.controllers),
            "use-service-account-credentials": "true",
            "service-account-private-key-file": layout.file("service-accounts.key"),
            "root-ca-file": layout.file("ca.crt"),
            "cluster-signing-cert-file": layout.file("ca.crt"),
            "cluster-signing-key-file": layout.file("ca.key"),
            # One service account for each controller is made at start: the default pace takes seconds over it.
            "kube-api-qps": 100,
            "kube-api-burst": 200,
            "leader-elect": "false",
            "secure-port": 0,
            "profiling": "false",
        }
    )


def scheduler_flags(layout: Layout) -> list[str]:
    """Return the arguments of kube-scheduler."""
    return _arguments(
        {
            "kubeconfig": layout.file("kube-scheduler.kubeconfig"),
            "leader-elect": "false",
            "secure-port": 0,
            "profiling": "false",
        }
    )


def _arguments(flags: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]
