"""Applications and releases as tests write them: the seed's, and variations of it."""

from __future__ import annotations

import copy
from typing import Any

import yaml

from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    GENERATION_ANNOTATION,
    HASH_LABEL,
    ITERATION_ANNOTATION,
    RELEASE_LABEL,
    RELEASES,
)
from hanse.kube.manifest import Obj, name_of, uid_of
from hanse.rollouts.applications import environment_hash
from tests.behaviour.rollouts import SEED


def seed_environment(version: str = "0.0.1") -> Obj:
    """Return the seed's template with a version of its chart."""
    environment: Obj = yaml.safe_load(SEED)["spec"]["template"]
    environment["chart"]["version"] = version
    return environment


def application(version: str = "0.0.1", *, annotations: dict[str, str] | None = None, **spec: Any) -> Obj:
    """Return the seed's Application as the server has it."""
    made: Obj = yaml.safe_load(SEED)
    made["metadata"] |= {"namespace": "default", "uid": "app-uid", "resourceVersion": "1"}
    if annotations:
        made["metadata"]["annotations"] = annotations
    made["spec"] = {"revisionHistoryLimit": 3, "template": seed_environment(version), **spec}
    return made


def release(version: str, generation: int, *, iteration: int = 0, complete: bool = True, of: Obj | None = None) -> Obj:
    """Return a Release of the seed's Application."""
    owner = application() if of is None else of
    environment = seed_environment(version)
    digest = environment_hash(environment)
    name = f"{name_of(owner)}-{digest}-{iteration}"
    conditions = [{"type": "Complete", "status": "True"}] if complete else []
    return {
        "apiVersion": RELEASES.api_version,
        "kind": RELEASES.kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{generation}",
            "labels": {APP_LABEL: name_of(owner), RELEASE_LABEL: name, HASH_LABEL: digest},
            "annotations": {GENERATION_ANNOTATION: str(generation), ITERATION_ANNOTATION: str(iteration)},
            "ownerReferences": [
                {
                    "apiVersion": APPLICATIONS.api_version,
                    "kind": "Application",
                    "name": name_of(owner),
                    "uid": uid_of(owner),
                }
            ],
        },
        "spec": {"targetStep": 1 if complete else 0, "environment": environment},
        "status": {"conditions": conditions},
    }


def deleting(obj: Obj) -> Obj:
    """Return an object that somebody has deleted and something holds."""
    held = copy.deepcopy(obj)
    held["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return held
