"""The parameters that a binding hands to its policy."""

from __future__ import annotations

from hanse.apiserver.core import Core
from hanse.apiserver.registry import Served
from hanse.kube.manifest import Obj, labels_of
from hanse.kube.selectors import LabelSelector


class ConfigurationError(Exception):
    """A policy or binding that cannot be carried out as it is written."""


def params_of(core: Core, policy: Obj, binding: Obj, namespace: str) -> list[Obj | None]:
    """Return what to evaluate a policy with: one entry an evaluation, [None] without parameters."""
    kind, reference = policy["spec"].get("paramKind"), binding["spec"].get("paramRef")
    if not kind or not reference:
        return [None]
    group, _, version = str(kind.get("apiVersion") or "").rpartition("/")
    served = core.registry.find_kind(group, version, str(kind.get("kind") or ""))
    if served is None:
        shown = f"{kind.get('apiVersion')}, Kind={kind.get('kind')}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{shown}'")
    found = _find(core, served, reference, _namespace(served, reference, namespace))
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return list(found)


def _namespace(served: Served, reference: Obj, namespace: str) -> str:
    given = str(reference.get("namespace") or "")
    if not served.resource.namespaced:
        if given:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        told = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        raise ConfigurationError(told)
    return given or namespace


def _find(core: Core, served: Served, reference: Obj, namespace: str) -> list[Obj]:
    if reference.get("name"):
        found = core.read(served, namespace, reference["name"])
        return [found] if found is not None else []
    selector = LabelSelector.from_object(reference.get("selector") or {})
    records = core.storage.scan(served.bucket, f"{namespace}/" if namespace else "")
    objects = [core.stored_form(served, record.value) for record in records]
    return [one for one in objects if selector.matches(labels_of(one))]
