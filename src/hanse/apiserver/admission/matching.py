"""Whether a webhook or policy wants to hear of an operation: rules, namespaces and labels."""

from __future__ import annotations

from hanse.apiserver import status
from hanse.apiserver.admission.attributes import Attributes, equivalents
from hanse.apiserver.core import Core
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import NAMESPACES
from hanse.kube.selectors import LabelSelector


def match_webhook(core: Core, hook: Obj, attributes: Attributes) -> Attributes | None:
    """Return the operation as the webhook's rules see it, in the version that they name; None where they do not."""
    if not _selects(core, hook, attributes):
        return None
    return _match_rules(core, hook.get("rules") or [], hook.get("matchPolicy"), attributes)


def match_policy(core: Core, constraints: Obj, attributes: Attributes) -> Attributes | None:
    """Return the operation as a policy's constraints see it; None where they do not."""
    if not _selects(core, constraints, attributes):
        return None
    excluded: list[Obj] = constraints.get("excludeResourceRules") or []
    policy = constraints.get("matchPolicy")
    if excluded and _match_rules(core, excluded, policy, attributes):
        return None
    return _match_rules(core, constraints.get("resourceRules") or [], policy, attributes)


def match_binding(core: Core, resources: Obj | None, attributes: Attributes) -> bool:
    """Tell whether a policy's binding covers an operation; one that names no resources covers all of them."""
    if resources is None:
        return True
    if resources.get("resourceRules"):
        return match_policy(core, resources, attributes) is not None
    if not _selects(core, resources, attributes):
        return False
    excluded: list[Obj] = resources.get("excludeResourceRules") or []
    return not excluded or _match_rules(core, excluded, resources.get("matchPolicy"), attributes) is None


def _match_rules(core: Core, rules: list[Obj], policy: str | None, attributes: Attributes) -> Attributes | None:
    if any(matches_rule(rule, attributes) for rule in rules):
        return attributes
    if policy != "Equivalent":
        return None
    others = equivalents(core, attributes)
    return next((other for rule in rules for other in others if matches_rule(rule, other)), None)


def matches_rule(rule: Obj, attributes: Attributes) -> bool:
    """Tell whether a rule names the operation."""
    group, version, plural = attributes.resource
    names: list[str] = rule.get("resourceNames") or []
    return (
        _in_scope(rule.get("scope") or "*", attributes)
        and _covers(rule.get("operations"), attributes.operation)
        and _covers(rule.get("apiGroups"), group)
        and _covers(rule.get("apiVersions"), version)
        and any(_is_resource(one, plural, attributes.subresource) for one in rule.get("resources") or ())
        and (not names or attributes.name in names)
    )


def _covers(values: list[str] | None, wanted: str) -> bool:
    return values is not None and ("*" in values or wanted in values)


def _is_resource(pattern: str, plural: str, subresource: str) -> bool:
    resource, _, part = pattern.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)


def _in_scope(scope: str, attributes: Attributes) -> bool:
    namespaced = bool(attributes.namespace) and not attributes.is_namespace
    return scope == "*" or namespaced == (scope == "Namespaced")


def _selects(core: Core, chooser: Obj, attributes: Attributes) -> bool:
    return _selects_namespace(core, chooser, attributes) and _selects_object(chooser, attributes)


def _selects_namespace(core: Core, chooser: Obj, attributes: Attributes) -> bool:
    selector = LabelSelector.from_object(chooser.get("namespaceSelector") or {})
    if selector.empty or not attributes.namespace:
        return True
    if attributes.is_namespace and attributes.object is not None:
        return selector.matches(_labels(attributes.object))
    return selector.matches(_labels(namespace_object(core, attributes.namespace)))


def namespace_object(core: Core, name: str) -> Obj:
    """Return the namespace of an operation; raises NotFound."""
    served = core.registry.find("", "v1", "namespaces")
    found = core.read(served, "", name) if served else None
    if found is None:
        raise status.not_found(NAMESPACES, name)
    return found


def _selects_object(chooser: Obj, attributes: Attributes) -> bool:
    selector = LabelSelector.from_object(chooser.get("objectSelector") or {})
    if selector.empty:
        return True
    return any(selector.matches(_labels(one)) for one in (attributes.object, attributes.old) if one is not None)


def _labels(obj: Obj) -> dict[str, str]:
    return dig(obj, "metadata", "labels", default={}) or {}
