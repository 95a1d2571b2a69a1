"""Connections to pods and services, which are admitted by what they ask for: PodExecOptions and its kin."""

from __future__ import annotations

from hanse.apiserver.admission.chain import admit_part
from hanse.apiserver.core import Call
from hanse.kube.manifest import Obj

_KINDS = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
_FLAGS = ("stdin", "stdout", "stderr", "tty")


async def admit_connection(call: Call) -> None:
    """Refuse a connection that a policy or webhook denies."""
    kind = _KINDS.get((call.path.plural, call.path.subresource))
    if kind is not None:
        await admit_part(call, connection_options(call, kind), "CONNECT")


def connection_options(call: Call, kind: str) -> Obj:
    """Return what a connection asks for, as the options of its kind."""
    given = call.options
    wanted: Obj = {"kind": kind, "apiVersion": "v1"}
    if kind.endswith("ProxyOptions"):
        return wanted | ({"path": call.path.below} if call.path.below else {})
    if kind == "PodPortForwardOptions":
        ports = [int(one) for text in given.all("ports") for one in text.split(",") if one.isdigit()]
        return wanted | ({"ports": ports} if ports else {})
    wanted |= {flag: True for flag in _FLAGS if given.flag(flag)}
    if given.text("container"):
        wanted["container"] = given.text("container")
    if kind == "PodExecOptions":
        wanted["command"] = list(given.all("command")) or None
    return wanted
