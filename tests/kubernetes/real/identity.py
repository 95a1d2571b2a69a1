"""Who may talk to a real cluster: its certificates, its tokens and the kubeconfigs that carry them."""

from __future__ import annotations

import secrets
from pathlib import Path

from tests.kubernetes.real.certificates import Authority, signing_keys
from tests.kubernetes.real.flags import Layout
from tests.kubernetes.real.kubeconfig import certificate_user, token_user, write_kubeconfig

_COMPONENTS = ("kube-controller-manager", "kube-scheduler")
_SERVER_NAMES = ("127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1")


def write_identity(layout: Layout, name: str) -> str:
    """Write all key material of a cluster into its folder; return the administrator's token."""
    authority = Authority(f"{name}-ca")
    ca, serving = authority.credential, authority.serving(_SERVER_NAMES)
    kubelets = authority.client("kube-apiserver-kubelet-client", ["system:masters"])
    signing, checking = signing_keys()
    token = secrets.token_hex(16)
    for file, content in {
        "ca.crt": ca.certificate,
        "ca.key": ca.key,
        "serving.crt": serving.certificate,
        "serving.key": serving.key,
        "kubelet-client.crt": kubelets.certificate,
        "kubelet-client.key": kubelets.key,
        "service-accounts.key": signing,
        "service-accounts.pub": checking,
        "tokens.csv": f'{token},admin,admin,"system:masters"\n'.encode(),
    }.items():
        _write_private(layout.file(file), content)
    for component in _COMPONENTS:
        user = certificate_user(authority.client(f"system:{component}"))
        path = layout.file(f"{component}.kubeconfig")
        write_kubeconfig(path, name, server=layout.server, ca=ca.certificate, users={component: user})
    admin = certificate_user(authority.client("admin", ["system:masters"]))
    write_kubeconfig(
        layout.file("kubeconfig"),
        name,
        server=layout.server,
        ca=ca.certificate,
        users={name: admin, f"{name}-token": token_user(token)},
    )
    return token


def _write_private(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
