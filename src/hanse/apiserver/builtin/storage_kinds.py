"""The kinds of storage.k8s.io: classes, drivers, attachments, capacities."""

from __future__ import annotations

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value, required_value
from hanse.kube.manifest import Obj, dig


def _default_class(obj: Obj) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _validate_class(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = [] if obj.get("provisioner") else [required_value("provisioner")]
    problems += field_rules.one_of("reclaimPolicy", obj.get("reclaimPolicy"), ("Delete", "Retain"))
    modes = ("Immediate", "WaitForFirstConsumer")
    problems += field_rules.one_of("volumeBindingMode", obj.get("volumeBindingMode"), modes)
    if old is not None:
        fixed = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
        problems += field_rules.unchanged(obj, old, "", *fixed)
    return problems


def _validate_attributes(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = [] if obj.get("driverName") else [required_value("driverName")]
    parameters = obj.get("parameters") or {}
    if not parameters:
        problems.append(required_value("parameters", "must contain at least one key/value pair"))
    if "" in parameters:
        problems.append(invalid_value("parameters", "", "field can not be empty."))
    if old is not None:
        problems += [
            forbidden_value(name, f"updates to {name} are forbidden.")
            for name in ("driverName", "parameters")
            if obj.get(name) != old.get(name)
        ]
    return problems


def _default_driver(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("seLinuxMount", False)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _validate_driver(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec, allowed = obj.get("spec") or {}, ("Persistent", "Ephemeral")
    modes = spec.get("volumeLifecycleModes") or ()
    problems = [one for mode in modes for one in field_rules.one_of("spec.volumeLifecycleModes", mode, allowed)]
    if old is not None:
        problems += field_rules.unchanged(
            spec, old.get("spec") or {}, "spec.", "attachRequired", "volumeLifecycleModes"
        )
    return problems


def _validate_attachment(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj.get("spec") or {}
    problems = [] if spec.get("attacher") else [required_value("spec.attacher")]
    source = spec.get("source") or {}
    if bool(source.get("persistentVolumeName")) == bool(source.get("inlineVolumeSpec")):
        told = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        problems.append(required_value("spec.source", told))
    problems += field_rules.named("spec.nodeName", spec.get("nodeName"))
    if old is not None and spec != old.get("spec"):
        problems.append(invalid_value("spec", spec, field_rules.IMMUTABLE))
    return problems


def _validate_capacity(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = field_rules.named("storageClassName", obj.get("storageClassName"))
    if old is not None:
        problems += field_rules.unchanged(obj, old, "", "nodeTopology", "storageClassName")
    return problems


def _default_node(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if not dig(spec, "drivers"):
        spec["drivers"] = None


def _with_spec(obj: Obj) -> None:
    obj.setdefault("spec", {})


CLASS = Strategy(_default_class, _validate_class)
ATTRIBUTES = Strategy(validate=_validate_attributes)
DRIVER = Strategy(_default_driver, _validate_driver)
ATTACHMENT = Strategy(_with_spec, _validate_attachment, new_status={"attached": False})
CAPACITY = Strategy(validate=_validate_capacity)
NODE = Strategy(_default_node)
