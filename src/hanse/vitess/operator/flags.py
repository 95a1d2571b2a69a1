"""Flags of Vitess' programs: what the operator sets, what people add, and how that is written."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from hanse.api.planetscale.values import LockserverParams
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity

_NUMBERED_TAG = re.compile(r"v?(\d+\.\d+\.\d+)(?:[-.].*)?")


def merged_flags(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return flags in which later layers win; `-foo` and `--foo` mean `foo`."""
    merged: dict[str, str] = {}
    for layer in layers:
        merged |= {name.lstrip("-"): value for name, value in layer.items()}
    return merged


def flag_arguments(flags: Mapping[str, str]) -> list[str]:
    """Write flags as arguments, sorted, so that equal flags are equal text."""
    return [f"--{name}={value}" for name, value in sorted(flags.items())]


def exporter_arguments(flags: Mapping[str, str]) -> list[str]:
    """Write flags of mysqld-exporter, which takes booleans as `--flag` and `--no-flag`."""
    written = {"true": "--{0}", "false": "--no-{0}"}
    return [written.get(value, "--{0}={1}").format(name, value) for name, value in sorted(flags.items())]


def topology_flags(lockserver: LockserverParams) -> dict[str, str]:
    """Return the flags by which a program finds the global topology."""
    return {
        "topo_implementation": lockserver.implementation,
        "topo_global_server_address": lockserver.address,
        "topo_global_root": lockserver.root,
    }


def go_max_procs(resources: Obj) -> list[Obj]:
    """Return the environment that has a Go program use no more threads than it is allowed CPUs, if there is a limit."""
    limit = dig(resources, "limits", "cpu")
    if limit is None:
        return []
    return [{"name": "GOMAXPROCS", "value": str(max(1, math.ceil(parse_quantity(limit))))}]


def image_version(image: str) -> str:
    """Return the version that an image's tag names, as `8.0.40`; "" where it names none."""
    name, _, tag = image.partition("@")[0].rpartition(":")
    found = _NUMBERED_TAG.fullmatch(tag) if name and "/" not in tag else None
    return found[1] if found else ""
