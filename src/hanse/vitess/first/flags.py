"""The command lines of Vitess's programs. Pure."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj

WEB_PORT = 15000
GRPC_PORT = 15999
_GLOBAL_ROOT = "/vitess/global"


def etcd_address(cell_object: str) -> str:
    """Return where the etcd of a cell answers."""
    return f"http://{cell_object}-etcd-client:2379"


def shared_flags(cluster: str) -> Obj:
    """Return the flags of every program."""
    return {
        "grpc_port": GRPC_PORT,
        "logtostderr": True,
        "port": WEB_PORT,
        "topo_global_root": _GLOBAL_ROOT,
        "topo_global_server_address": etcd_address(f"{cluster}-global"),
        "topo_implementation": "etcd2",
    }


def written(flags: Obj) -> str:
    """Return flags as the command line has them, sorted."""
    return " ".join(f'-{key}="{_word(flags[key])}"' for key in sorted(flags))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def shell(program: str, flags: Obj) -> list[str]:
    """Return the command of a container: flags may name variables and commands, which the shell fills in."""
    return ["bash", "-c", f"set -ex; exec /vt/bin/{program} {written(flags)}"]
