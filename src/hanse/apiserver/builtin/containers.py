"""Rules of containers: name, image, ports, mounts, resources, rights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.container_handlers import PROBES, hook_problems, probe_problems
from hanse.apiserver.builtin.environment import environment_problems
from hanse.apiserver.builtin.volumes import relative_path_problems
from hanse.apiserver.status import FieldProblem, duplicate_value, forbidden_value, invalid_value, required_value
from hanse.kube.manifest import Obj
from hanse.kube.names import name_problems
from hanse.kube.quantities import parse_quantity

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_STANDARD = ("cpu", "memory", "ephemeral-storage")
SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")
_SECURITY_FIELDS = (
    "Capabilities", "Privileged", "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot",
    "ReadOnlyRootFilesystem", "AllowPrivilegeEscalation", "ProcMount", "SeccompProfile", "AppArmorProfile",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the rules of a container need to know of its pod."""

    volumes: set[str]
    grace: Any
    host_network: bool


def container_list_problems(
    spec: Obj, listed: str, field: str, names: set[str], around: Surroundings
) -> list[FieldProblem]:
    """Check one of a pod's lists of containers; `names` gains those found."""
    problems: list[FieldProblem] = []
    taken: set[str] = set()
    for place, container in enumerate(spec.get(listed) or ()):
        if not isinstance(container, dict):
            continue
        at = f"{field}.{listed}[{place}]"
        problems += _container(container, at, names, around)
        problems += _host_ports(container, f"{at}.ports", taken, around)
        if listed == "initContainers" and container.get("restartPolicy") != "Always":
            problems += _only_later(container, at)
    return problems


def _only_later(container: Obj, field: str) -> Iterable[FieldProblem]:
    told = "may not be set for init containers without restartPolicy=Always"
    return [forbidden_value(f"{field}.{name}", told) for name in ("lifecycle", *PROBES) if container.get(name)]


def _container(container: Obj, field: str, names: set[str], around: Surroundings) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    name = str(container.get("name") or "")
    if not name:
        problems.append(required_value(f"{field}.name"))
    else:
        problems += [invalid_value(f"{field}.name", name, told) for told in name_problems(name, "label")]
    if name in names:
        problems.append(duplicate_value(f"{field}.name", name))
    names.add(name)
    if not container.get("image"):
        problems.append(required_value(f"{field}.image"))
    problems += hook_problems(container, field, around.grace)
    problems += probe_problems(container, field, around.grace)
    policy = container.get("terminationMessagePolicy")
    problems += field_rules.one_of(f"{field}.terminationMessagePolicy", policy, ("File", "FallbackToLogsOnError"))
    problems += _port_problems(container, f"{field}.ports")
    problems += environment_problems(container, field)
    problems += _mount_problems(container, f"{field}.volumeMounts", around.volumes)
    problems += field_rules.one_of(f"{field}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES)
    problems += resource_problems(container.get("resources") or {}, f"{field}.resources")
    problems += _security_problems(container.get("securityContext"), f"{field}.securityContext")
    if container.get("restartPolicy"):
        policies = ("Always", "Never", "OnFailure")
        problems += field_rules.one_of(f"{field}.restartPolicy", container["restartPolicy"], policies)
    return problems


def _port_problems(container: Obj, field: str) -> list[FieldProblem]:
    problems = []
    names: set[str] = set()
    for place, port in enumerate(container.get("ports") or ()):
        name, number = str(port.get("name") or ""), port.get("containerPort")
        at = f"{field}[{place}]"
        wrong = field_rules.port_name(name) if name else []
        problems += [invalid_value(f"{at}.name", name, told) for told in wrong]
        if name and not wrong and name in names:
            problems.append(duplicate_value(f"{at}.name", name))
        names.add(name)
        if not number:
            problems.append(required_value(f"{at}.containerPort"))
        else:
            problems += field_rules.port(f"{at}.containerPort", number)
        if port.get("hostPort"):
            problems += field_rules.port(f"{at}.hostPort", port["hostPort"])
        problems += field_rules.one_of(f"{at}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP"))
    return problems


def _host_ports(container: Obj, field: str, taken: set[str], around: Surroundings) -> list[FieldProblem]:
    problems = []
    for place, port in enumerate(container.get("ports") or ()):
        number, at = port.get("hostPort"), f"{field}[{place}].hostPort"
        if not number:
            continue
        key = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{number}"
        if key in taken:
            problems.append(duplicate_value(at, key))
        taken.add(key)
        if around.host_network and number != port.get("containerPort"):
            told = "must match `containerPort` when `hostNetwork` is true"
            problems.append(invalid_value(at, number, told))
    return problems


def _mount_problems(container: Obj, field: str, volumes: set[str]) -> list[FieldProblem]:
    problems = []
    paths: set[str] = set()
    for place, mount in enumerate(container.get("volumeMounts") or ()):
        name, path = str(mount.get("name") or ""), str(mount.get("mountPath") or "")
        at = f"{field}[{place}]"
        if not name:
            problems.append(required_value(f"{at}.name"))
        if name not in volumes:
            problems.append(FieldProblem(f"{at}.name", "FieldValueNotFound", f'Not found: "{name}"'))
        if not path:
            problems.append(required_value(f"{at}.mountPath"))
        elif path in paths:
            problems.append(invalid_value(f"{at}.mountPath", path, "must be unique"))
        paths.add(path)
        problems += _mount_parts(mount, field, at)
    return problems


def _mount_parts(mount: Obj, field: str, at: str) -> list[FieldProblem]:
    problems = []
    below, expression = mount.get("subPath"), mount.get("subPathExpr")
    # Upstream forgets the place in the list here.
    if below:
        problems += relative_path_problems(f"{field}.subPath", below)
    if expression:
        if below:
            told = "subPathExpr and subPath are mutually exclusive"
            problems.append(invalid_value(f"{at}.subPathExpr", expression, told))
        problems += relative_path_problems(f"{field}.subPathExpr", expression)
    if mount.get("mountPropagation"):
        problems += field_rules.one_of(f"{field}.mountPropagation", mount["mountPropagation"], _PROPAGATIONS)
    return problems


def resource_problems(resources: Obj, field: str) -> list[FieldProblem]:
    """Check that amounts are of known things, not negative, and that no request passes its limit."""
    problems = []
    limits: dict[str, Any] = resources.get("limits") or {}
    requests: dict[str, Any] = resources.get("requests") or {}
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            problems += _amount(f"{field}.{kind}[{name}]", name, amount)
    for name, amount in requests.items():
        problems += _request(field, name, amount, limits)
    return problems


def _amount(field: str, name: str, amount: Any) -> list[FieldProblem]:
    problems = field_rules.qualified(field, name)
    known = name in _STANDARD or name.startswith("hugepages-")
    if "/" not in name and not known and not problems:
        problems.append(invalid_value(field, name, "must be a standard resource type or fully qualified"))
        problems.append(invalid_value(field, name, "must be a standard resource for containers"))
        return problems
    if parse_quantity(str(amount)) < 0:
        problems.append(invalid_value(field, amount, field_rules.AT_LEAST_ZERO))
    if not known and not field_rules.is_whole(amount):
        problems.append(invalid_value(field, amount, "must be an integer"))
    return problems


def _request(field: str, name: str, amount: Any, limits: dict[str, Any]) -> list[FieldProblem]:
    shared = name in _STANDARD
    if name not in limits:
        told = "Limit must be set for non overcommitable resources"
        return [] if shared or "/" not in name else [required_value(f"{field}.limits", told)]
    wanted, limit = parse_quantity(str(amount)), parse_quantity(str(limits[name]))
    if not shared and wanted != limit:
        return [invalid_value(f"{field}.requests", amount, f"must be equal to {name} limit of {limits[name]}")]
    if wanted > limit:
        told = f"must be less than or equal to {name} limit of {limits[name]}"
        return [invalid_value(f"{field}.requests", amount, told)]
    return []


def _security_problems(context: Any, field: str) -> list[FieldProblem]:
    if not isinstance(context, dict):
        return []
    problems = user_problems(context, field)
    profile = context.get("seccompProfile")
    if isinstance(profile, dict):
        problems += field_rules.one_of(f"{field}.seccompProfile.type", profile.get("type"), SECCOMP)
    if context.get("allowPrivilegeEscalation") is False and context.get("privileged"):
        # A server shows the field names of its own types.
        shown = {
            name: context.get("seLinuxOptions" if name.startswith("SE") else name[0].lower() + name[1:])
            for name in _SECURITY_FIELDS
        }
        told = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        problems.append(invalid_value(field, shown, told))
    return problems


def user_problems(context: Obj, field: str) -> list[FieldProblem]:
    """Check the user and group that a security context names."""
    return [
        problem
        for name in ("runAsUser", "runAsGroup")
        for problem in field_rules.user_id(f"{field}.{name}", context.get(name))
    ]
