"""Kubeconfig files for the users and components of a real cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.kubernetes.real.certificates import Credential

User = dict[str, str]


def certificate_user(credential: Credential) -> User:
    """Describe a user who shows a client certificate."""
    return {
        "client-certificate-data": _base64(credential.certificate),
        "client-key-data": _base64(credential.key),
    }


def token_user(token: str) -> User:
    """Describe a user who shows a bearer token."""
    return {"token": token}


def write_kubeconfig(path: Path, cluster: str, *, server: str, ca: bytes, users: Mapping[str, User]) -> None:
    """Write one context for each user, named as the user is; the first one is current."""
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(users)),
        "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": _base64(ca)}}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": cluster, "user": name}} for name in users],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config, sort_keys=False))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
