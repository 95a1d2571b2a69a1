"""Claims on volumes, and the volumes themselves."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.builtin.volumes import source_problems
from hanse.apiserver.status import (
    FieldProblem,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_CLAIM_IMMUTABLE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_VOLUME_SETTINGS = {
    "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
    "storageClassName", "volumeAttributesClassName", "volumeMode",
}  # fmt: skip


def _default_claim(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")


def claim_spec_problems(spec: Obj, field: str) -> list[FieldProblem]:
    """Check what a claim asks for."""
    problems = _mode_problems(
        spec.get("accessModes") or [], f"{field}.accessModes", "at least 1 access mode is required"
    )
    problems += field_rules.label_selector(spec.get("selector"), f"{field}.selector")
    size = dig(spec, "resources", "requests", "storage")
    if not size:
        problems.append(required_value(f"{field}.resources[storage]"))
    elif parse_quantity(str(size)) <= 0:
        problems.append(invalid_value(f"{field}.resources[storage]", size, "must be greater than zero"))
    if spec.get("storageClassName"):
        problems += field_rules.named(f"{field}.storageClassName", spec["storageClassName"])
    if spec.get("volumeMode") is not None:
        problems += field_rules.one_of(f"{field}.volumeMode", spec["volumeMode"], _VOLUME_MODES)
    return problems


def _mode_problems(modes: list[Any], field: str, missing: str) -> list[FieldProblem]:
    if not modes:
        return [required_value(field, missing)]
    problems = [problem for mode in modes for problem in field_rules.one_of(field, mode, _MODES)]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        problems.append(forbidden_value(field, "may not use ReadWriteOncePod with other access modes"))
    return problems


def _validate_claim(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj.get("spec") or {}
    problems = claim_spec_problems(spec, "spec")
    if old is not None and _fixed(spec, old) != _fixed(old["spec"], old):
        problems.append(forbidden_value("spec", _CLAIM_IMMUTABLE))
    return problems


def _fixed(spec: Obj, old: Obj) -> Obj:
    skipped = {"volumeName", "volumeAttributesClassName"}
    if dig(old, "status", "phase") == "Bound":
        skipped.add("resources")
    if not old["spec"].get("storageClassName"):
        # A class may be given later to a claim that was made without one.
        skipped.add("storageClassName")
    return {name: value for name, value in spec.items() if name not in skipped}


def _default_volume(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if isinstance(spec.get("hostPath"), dict):
        spec["hostPath"].setdefault("type", "")


def _validate_volume(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj.get("spec") or {}
    problems = _mode_problems(spec.get("accessModes") or [], "spec.accessModes", "")
    if not spec.get("capacity"):
        problems.append(required_value("spec.capacity"))
        problems.append(unsupported_value("spec.capacity", spec.get("capacity"), ("storage",)))
    policy = spec.get("persistentVolumeReclaimPolicy")
    problems += field_rules.one_of("spec.persistentVolumeReclaimPolicy", policy, ("Delete", "Recycle", "Retain"))
    problems += source_problems(spec, "spec")
    if not set(spec) - _VOLUME_SETTINGS:
        problems.append(required_value("spec", "must specify a volume type"))
    problems += field_rules.one_of("spec.volumeMode", spec.get("volumeMode"), _VOLUME_MODES)
    if old is not None:
        problems += _volume_changes(spec, old["spec"])
    return problems


def _volume_changes(spec: Obj, old: Obj) -> list[FieldProblem]:
    problems = field_rules.unchanged(spec, old, "", "volumeMode")
    if _source_of(spec) != _source_of(old):
        told = "spec.persistentvolumesource is immutable after creation"
        problems.append(forbidden_value("spec.persistentvolumesource", told))
    return problems


def _source_of(spec: Obj) -> Obj:
    return {name: value for name, value in spec.items() if name not in _VOLUME_SETTINGS}


CLAIM = Strategy(_default_claim, _validate_claim, new_status={"phase": "Pending"})
VOLUME = Strategy(_default_volume, _validate_volume, new_status={"phase": "Pending"})
