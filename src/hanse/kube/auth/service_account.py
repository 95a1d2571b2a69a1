"""The endpoint of a pod: the API server of its own cluster, as its service account."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hanse.kube.auth.certificates import check_authority
from hanse.kube.auth.endpoint import Endpoint, KubeconfigError, Origin

_FOLDER = "var/run/secrets/kubernetes.io/serviceaccount"


def in_cluster_endpoint(environ: Mapping[str, str] | None = None, *, root: str | os.PathLike[str] = "/") -> Endpoint:
    """Return how a process in a pod reaches its own cluster; raises KubeconfigError where it is in none.

    The token is read again while the process runs, since the kubelet replaces it. `root` is where the pod's file system
    begins.
    """
    variables = os.environ if environ is None else environ
    host, port = (_variable(variables, f"KUBERNETES_SERVICE_{part}") for part in ("HOST", "PORT"))
    folder = Path(root) / _FOLDER
    authority = _read(folder / "ca.crt")
    try:
        check_authority(authority)
    except ValueError as error:
        raise KubeconfigError(f"service account file {folder / 'ca.crt'} {error}") from error
    if not _read(folder / "token").strip():
        raise KubeconfigError(f"service account file {folder / 'token'} is empty")
    namespace = folder / "namespace"
    return Endpoint(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca=authority,
        token_file=str(folder / "token"),
        namespace=_read(namespace).decode(errors="replace").strip() if namespace.exists() else "default",
        origin=Origin("service account: cluster", "service account: user"),
    )


def _variable(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise KubeconfigError(f"this process is not in a pod: {name} is not set; give a kubeconfig instead")
    return value


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeconfigError(
            f"service account file {path} cannot be read: {error.strerror}; "
            "does the pod's spec set automountServiceAccountToken: false?"
        ) from error
