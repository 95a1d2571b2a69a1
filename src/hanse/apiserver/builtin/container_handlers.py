"""Rules of probes and lifecycle hooks."""

from __future__ import annotations

import re
from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value, required_value
from hanse.kube.manifest import Obj

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_TIMES = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)
_ONE_HANDLER = "may not specify more than 1 handler type"


def hook_problems(container: Obj, field: str, grace: Any) -> list[FieldProblem]:
    """Check what a container does when it has started and before it stops."""
    hooks = container.get("lifecycle") or {}
    return [
        problem
        for name in ("postStart", "preStop")
        if isinstance(hooks.get(name), dict)
        for problem in _handler(hooks[name], f"{field}.lifecycle.{name}", grace)
    ]


def probe_problems(container: Obj, field: str, grace: Any) -> list[FieldProblem]:
    """Check a container's probes."""
    problems = []
    for name in PROBES:
        probe = container.get(name)
        if isinstance(probe, dict):
            problems += _probe(name, probe, f"{field}.{name}", grace)
    return problems


def _probe(name: str, probe: Obj, field: str, grace: Any) -> list[FieldProblem]:
    problems = _handler(probe, field, grace)
    problems += field_rules.counts(probe, field, *_TIMES)
    given = probe.get("terminationGracePeriodSeconds")
    if name == "readinessProbe":
        if given is not None:
            told = "must not be set for readinessProbes"
            problems.append(invalid_value(f"{field}.terminationGracePeriodSeconds", given, told))
        return problems
    if given is not None and given <= 0:
        problems.append(invalid_value(f"{field}.terminationGracePeriodSeconds", given, "must be greater than 0"))
    if probe.get("successThreshold") != 1:
        problems.append(invalid_value(f"{field}.successThreshold", probe.get("successThreshold"), "must be 1"))
    return problems


def _handler(handler: Obj, field: str, grace: Any) -> list[FieldProblem]:
    given = [name for name in _HANDLERS if isinstance(handler.get(name), dict)]
    if not given:
        return [required_value(field, "must specify a handler type")]
    first = given[0]
    problems = _action(first, handler[first], f"{field}.{first}", grace)
    return problems + [forbidden_value(f"{field}.{name}", _ONE_HANDLER) for name in given[1:]]


def _action(kind: str, action: Obj, field: str, grace: Any) -> list[FieldProblem]:
    match kind:
        case "exec":
            return [] if action.get("command") else [required_value(f"{field}.command")]
        case "httpGet":
            return _http_get(action, field)
        case "sleep":
            seconds = action.get("seconds") or 0
            if 0 <= seconds <= (grace or 0):
                return []
            told = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            return [invalid_value(field, seconds, told)]
    return field_rules.port(f"{field}.port", action.get("port"))


def _http_get(action: Obj, field: str) -> list[FieldProblem]:
    problems = [] if action.get("path") else [required_value(f"{field}.path")]
    problems += field_rules.port(f"{field}.port", action.get("port"))
    problems += field_rules.one_of(f"{field}.scheme", action.get("scheme"), ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = str(header.get("name") or "")
        if not re.fullmatch(r"[-A-Za-z0-9]+", name):
            problems.append(invalid_value(f"{field}.httpHeaders", name, _HEADER))
    return problems
