"""What a kubeconfig's user entry says: by what it is known to the server, and whom it acts for."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import orjson

from hanse.kube.auth.certificates import check_key_pair
from hanse.kube.auth.endpoint import ExecPlugin, Impersonation, KubeconfigError
from hanse.kube.auth.fields import Fields

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
_CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"
_MODES = ("Never", "IfAvailable", "Always")


def refuse_auth_provider(user: Fields) -> None:
    """Refuse the credential helpers that Kubernetes removed in 1.26, naming what took their place."""
    if "auth-provider" not in user:
        return
    name = user.inner("auth-provider").text("name") or "unnamed"
    raise user.fault(
        "auth-provider",
        f"({name}) was removed from Kubernetes in 1.26; use users[].user.exec with your provider's credential plugin",
    )


def refuse_two_ways(user: Fields) -> None:
    """Refuse a user who would be known in two ways at once, as kubectl does."""
    if "token" in user and ("username" in user or "password" in user):
        raise KubeconfigError(f"{user.source}: {user.where} has both token and username; keep one of them")


def read_key_pair(user: Fields) -> tuple[bytes | None, bytes | None]:
    """Read a client certificate and its key, both or neither."""
    certificate, key = user.content("client-certificate"), user.content("client-key")
    if certificate is None and key is None:
        return None, None
    if certificate is None or key is None:
        absent = "client-key" if key is None else "client-certificate"
        raise user.fault(absent, "is missing; certificate and key go together")
    try:
        check_key_pair(certificate, key)
    except ValueError as error:
        raise user.fault(user.spelling("client-certificate"), str(error)) from error
    return certificate, key


def read_impersonation(user: Fields) -> Impersonation | None:
    """Read whom a user acts for; None where for nobody but themselves."""
    name, uid, groups = user.header("as"), user.header("as-uid"), user.headers("as-groups")
    by_key = user.inner("as-user-extra")
    extra = tuple((key, by_key.headers(key)) for key in by_key.names())
    if not name:
        if uid or groups or extra:
            raise user.fault("as", "is missing; as-uid, as-groups and as-user-extra need a user to go with")
        return None
    return Impersonation(name, uid, groups, extra)


def read_exec(user: Fields, cluster: Fields, authority: bytes | None) -> ExecPlugin | None:
    """Read the plugin that prints a user's credentials; None where there is none."""
    if "exec" not in user:
        return None
    if user.folder is None:
        # Whoever may write such a document elsewhere must not thereby run commands here.
        raise user.fault(
            "exec", "runs a command, which only a kubeconfig file may ask for; give a token or certificate"
        )
    plugin = user.inner("exec")
    version = plugin.text("apiVersion", required=True)
    if version not in (V1, V1BETA1):
        raise plugin.fault("apiVersion", f"{version!r} is not supported; use {V1}")
    _check_mode(plugin, version)
    told = plugin.flag("provideClusterInfo")
    return ExecPlugin(
        command=_command(plugin, user.folder),
        api_version=version,
        arguments=plugin.texts("args"),
        environment=tuple((entry.text("name", required=True), entry.text("value")) for entry in plugin.inners("env")),
        install_hint=" ".join(_printable(plugin.text("installHint")).split()),
        cluster_info=_cluster_info(cluster, authority) if told else "",
    )


def _check_mode(plugin: Fields, version: str) -> None:
    mode = plugin.text("interactiveMode", required=version == V1)
    if mode and mode not in _MODES:
        raise plugin.fault("interactiveMode", f"must be one of {', '.join(_MODES)}, not {mode!r}")
    if mode == "Always":
        raise plugin.fault("interactiveMode", "is Always, but plugins run without a terminal here; use IfAvailable")


def _command(plugin: Fields, folder: Path) -> str:
    command = plugin.text("command", required=True)
    # Only a command with a folder in its name is a file beside the kubeconfig; others are looked up in PATH.
    return str(folder / command) if os.sep in command else command


def _cluster_info(cluster: Fields, authority: bytes | None) -> str:
    info: dict[str, Any] = {"server": cluster.text("server")}
    for field in ("tls-server-name", "proxy-url"):
        if text := cluster.text(field):
            info[field] = text
    for field in ("insecure-skip-tls-verify", "disable-compression"):
        if cluster.flag(field):
            info[field] = True
    if authority:
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    for extension in cluster.inners("extensions"):
        if extension.text("name") == _CLUSTER_EXTENSION:
            info["config"] = extension.value("extension")
    return orjson.dumps(info, default=str).decode()


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
