"""Modes: how the harness drives one control plane."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness.rest import Api, Manifest, path_of

JSON_PATCH = "application/json-patch+json"
_HERE = Path(__file__).parent.parent


@dataclass
class Context:
    """What a mode's functions get to see."""

    run: str
    host: Api
    members: list[Api]
    namespaces: list[str]


@dataclass(frozen=True)
class Patch:
    path: str
    body: bytes
    content_type: str = JSON_PATCH


def json_patch(path: str, pointer: str, value: Any) -> Patch:
    return Patch(path, json.dumps([{"op": "replace", "path": pointer, "value": value}]).encode())


def deployment_image(_ctx: Context, objects: list[Manifest], image: str) -> list[Patch]:
    """The patch that gives the first object, a Deployment, another image."""
    return [json_patch(path_of(objects[0]), "/spec/template/spec/containers/0/image", image)]


def only_deployment(_ctx: Context, workload: Manifest) -> list[Manifest]:
    """The Deployment as it is, and nothing beside it."""
    return [workload]


async def no_policies(_ctx: Context) -> None:
    """Creates nothing: the control plane needs no policy objects."""


@dataclass(frozen=True)
class Mode:
    """How one control plane is driven.

    workload(ctx, deployment)        the objects to create for one Deployment, in order
    shared(ctx)                      creates the shared policy objects, before any timing
    set_image(ctx, objects, image)   the patches that change a workload's image
    direct                           write to every member, not to the host (raw only)

    A workload is deleted by deleting its objects in reverse order. Whatever
    the mode, the member objects must keep the Deployment's name, namespace
    and labels: that is how the watches recognise them.
    """

    workload: Callable[[Context, Manifest], list[Manifest]] = only_deployment
    shared: Callable[[Context], Awaitable[None]] = no_policies
    set_image: Callable[[Context, list[Manifest], str], list[Patch]] = deployment_image
    direct: bool = False


RAW = Mode(direct=True)
"""Writes straight into every member: what the API servers can take with no control plane between them."""


def load_mode(name: str) -> Mode:
    """Find a mode: `raw`, NAME for bench/mode_NAME.py, or FILE:ATTRIBUTE for one that lives elsewhere."""
    if name == "raw":
        return RAW
    file, _, attribute = name.rpartition(":")
    path = Path(file) if file else _HERE / f"mode_{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{path.stem}", path)
    if spec is None or spec.loader is None or not path.exists():
        known = ", ".join(sorted(found.stem.removeprefix("mode_") for found in _HERE.glob("mode_*.py")))
        raise SystemExit(f"unknown mode {name!r}: use raw, {known} or FILE:NAME")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mode = getattr(module, attribute if file else "MODE")
    if not isinstance(mode, Mode):
        raise SystemExit(f"mode {name!r}: {attribute} in {path} is not a Mode")
    return mode
