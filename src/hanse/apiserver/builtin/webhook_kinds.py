"""Webhook configurations: their defaults, and what a server refuses in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.cel.admission_expressions import Scope, compile_error
from hanse.apiserver.status import (
    FieldProblem,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.cel.rule import EngineMissing
from hanse.kube.manifest import Obj
from hanse.kube.names import name_problems
from hanse.kube.selectors import qualified_name_problems

FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_URL_FORM = "https://host[/path]"
_VERSION = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def default_rules(rules: list[Obj] | None) -> None:
    """Fill in the defaults of rules."""
    for rule in rules or ():
        rule.setdefault("scope", "*")


def _defaults(obj: Obj) -> None:
    for hook in obj.get("webhooks") or ():
        hook.setdefault("failurePolicy", "Fail")
        hook.setdefault("matchPolicy", "Equivalent")
        hook.setdefault("namespaceSelector", {})
        hook.setdefault("objectSelector", {})
        hook.setdefault("timeoutSeconds", 10)
        if obj.get("kind") == "MutatingWebhookConfiguration":
            hook.setdefault("reinvocationPolicy", "Never")
        default_rules(hook.get("rules"))
        service = (hook.get("clientConfig") or {}).get("service")
        if isinstance(service, dict):
            service.setdefault("port", 443)


def _validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    for place, hook in enumerate(obj.get("webhooks") or ()):
        field = f"webhooks[{place}]"
        problems += _hook_problems(hook, field)
        name = str(hook.get("name") or "")
        if name in seen:
            problems.append(duplicate_value(f"{field}.name", name))
        seen.add(name)
    return problems


def _hook_problems(hook: Obj, field: str) -> Iterator[FieldProblem]:
    yield from _name_problems(str(hook.get("name") or ""), f"{field}.name")
    for place, rule in enumerate(hook.get("rules") or ()):
        yield from rule_problems(rule, f"{field}.rules[{place}]")
    yield from _choice_problems(hook, field)
    yield from _version_problems(hook.get("admissionReviewVersions") or [], f"{field}.admissionReviewVersions")
    yield from _client_problems(hook.get("clientConfig") or {}, f"{field}.clientConfig")
    yield from condition_problems(hook.get("matchConditions") or [], f"{field}.matchConditions", Scope())


def _name_problems(name: str, field: str) -> Iterator[FieldProblem]:
    if not name:
        yield required_value(field)
        return
    told = name_problems(name, "subdomain")
    yield from (invalid_value(field, name, one) for one in told)
    if not told and name.count(".") < 2:
        yield invalid_value(field, name, "should be a domain with at least three segments separated by dots")


def _choice_problems(hook: Obj, field: str) -> Iterator[FieldProblem]:
    for name, allowed in (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", _MATCH_POLICIES)):
        if hook.get(name) not in allowed:
            yield unsupported_value(f"{field}.{name}", hook.get(name), allowed)
    effects = hook.get("sideEffects")
    if effects is None:
        yield required_value(f"{field}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    elif effects not in _SIDE_EFFECTS:
        yield unsupported_value(f"{field}.sideEffects", effects, _SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds")
    if isinstance(seconds, int) and not 1 <= seconds <= 30:
        told = "the timeout value must be between 1 and 30 seconds"
        yield invalid_value(f"{field}.timeoutSeconds", seconds, told)
    again = hook.get("reinvocationPolicy")
    if again is not None and again not in ("IfNeeded", "Never"):
        yield unsupported_value(f"{field}.reinvocationPolicy", again, ("IfNeeded", "Never"))


def _version_problems(versions: list[str], field: str) -> Iterator[FieldProblem]:
    if not versions:
        yield required_value(field, "must specify one of v1, v1beta1")
        return
    for place, version in enumerate(versions):
        if version in versions[:place]:
            yield invalid_value(f"{field}[{place}]", version, "duplicate version")
        for told in name_problems(version, "service") if not _VERSION.fullmatch(version) else ():
            yield invalid_value(f"{field}[{place}]", version, told)
    # The older form of the review is not spoken here.
    if "v1" not in versions:
        yield invalid_value(field, versions, "must include at least one of v1")


def _client_problems(config: Obj, field: str) -> Iterator[FieldProblem]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required_value(field, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_problems(str(url), f"{field}.url")
    else:
        yield from _service_problems(service or {}, f"{field}.service")


def _url_problems(url: str, field: str) -> Iterator[FieldProblem]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required_value(field, f"url must be a valid URL: {error}; desired format: {_URL_FORM}")
        return
    if parts.scheme != "https":
        told = f"'https' is the only allowed URL scheme; desired format: {_URL_FORM}"
        yield invalid_value(field, parts.scheme, told)
    if not parts.netloc:
        yield invalid_value(field, parts.netloc, f"host must be specified; desired format: {_URL_FORM}")
    if parts.username is not None:
        yield invalid_value(field, parts.username, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid_value(field, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid_value(field, parts.query, "query parameters are not permitted in the URL")


def _service_problems(service: Obj, field: str) -> Iterator[FieldProblem]:
    # Upstream confuses the two in this message, and clients see the same here.
    for name, called in (("name", "namespace"), ("namespace", "name")):
        if not service.get(name):
            yield required_value(f"{field}.{called}")
    port = service.get("port", 443)
    if not isinstance(port, int) or not 1 <= port <= 65535:
        yield invalid_value(f"{field}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    if service.get("path"):
        yield from _path_problems(str(service["path"]), f"{field}.path")


def _path_problems(path: str, field: str) -> Iterator[FieldProblem]:
    if path == "/":
        return
    if not path.startswith("/"):
        yield invalid_value(field, path, "must start with a '/'")
    steps = path[1:].removesuffix("/").split("/")
    for place, step in enumerate(steps):
        if not step:
            yield invalid_value(field, path, f"segment[{place}] may not be empty")
        else:
            told = name_problems(step, "subdomain")
            yield from (invalid_value(field, path, f"segment[{place}]: {one}") for one in told)


def rule_problems(rule: Obj, field: str) -> Iterator[FieldProblem]:
    """Check a rule of a webhook or policy."""
    given = rule.get("operations") or []
    if not given:
        yield required_value(f"{field}.operations")
    if len(given) > 1 and "*" in given:
        told = "if '*' is present, must not specify other operations"
        yield invalid_value(f"{field}.operations", given, told)
    for place, one in enumerate(given):
        if one not in _OPERATIONS:
            yield unsupported_value(f"{field}.operations[{place}]", one, _OPERATIONS)
    for name, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or []
        if not values:
            yield required_value(f"{field}.{name}")
        if len(values) > 1 and "*" in values:
            yield invalid_value(f"{field}.{name}", values, f"if '*' is present, must not specify other {what}")
    yield from _resource_problems(rule.get("resources") or [], f"{field}.resources")
    if rule.get("scope") not in (None, *_SCOPES):
        yield unsupported_value(f"{field}.scope", rule["scope"], _SCOPES)


def _resource_problems(resources: list[str], field: str) -> Iterator[FieldProblem]:
    if not resources:
        yield required_value(field)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value(field, resources, "if '*/*' is present, must not specify other resources")
    elif "*" in resources and any("/" not in one for one in resources if one != "*"):
        told = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value(field, resources, told)


def condition_problems(conditions: list[Obj], field: str, scope: Scope) -> Iterator[FieldProblem]:
    """Check the matchConditions of a webhook or policy."""
    seen: set[str] = set()
    for place, condition in enumerate(conditions):
        at = f"{field}[{place}]"
        yield from expression_problems(condition.get("expression"), f"{at}.expression", ("BOOL",), scope)
        name = str(condition.get("name") or "")
        if not name:
            yield required_value(f"{at}.name")
            continue
        yield from (invalid_value(f"{at}.name", name, told) for told in qualified_name_problems(name))
        if name in seen:
            yield duplicate_value(f"{at}.name", name)
        seen.add(name)


def expression_problems(
    source: object, field: str, gives: tuple[str, ...], scope: Scope, missing: str = ""
) -> Iterator[FieldProblem]:
    """Check that an expression is there and compiles."""
    text = str(source or "")
    if not text.strip():
        yield required_value(field, missing)
        return
    try:
        told = compile_error(text, gives, scope)
    except EngineMissing as error:
        yield forbidden_value(field, str(error))
        return
    if told:
        yield invalid_value(field, text, told)


WEBHOOKS = Strategy(_defaults, _validate, counts_generation=True)
