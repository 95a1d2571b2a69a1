"""Pod specs wherever they occur: their defaults and the rules that users meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hanse.apiserver.names import label_problems, name_problems
from hanse.apiserver.status import (
    FieldProblem,
    duplicate_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_DEFAULT_MODE = 420
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")


def default_template(template: Obj) -> None:
    """Fill in a pod template."""
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Obj) -> None:
    """Fill in what a server fills in for every pod spec."""
    spec.setdefault("restartPolicy", "Always")
    if not spec.get("terminationGracePeriodSeconds") and spec.get("terminationGracePeriodSeconds") != 0:
        spec["terminationGracePeriodSeconds"] = 30
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container in _objects(spec.get(name)):
            _default_container(container)
    for volume in _objects(spec.get("volumes")):
        _default_volume(volume)


def _objects(value: Any) -> Iterator[Obj]:
    for one in value or ():
        if isinstance(one, dict):
            yield one


def _default_container(container: Obj) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(str(container.get("image") or ""))
    for port in _objects(container.get("ports")):
        port.setdefault("protocol", "TCP")
    for name in _PROBES:
        if isinstance(container.get(name), dict):
            _default_probe(container[name])
    for handler in (dig(container, "lifecycle", "postStart"), dig(container, "lifecycle", "preStop")):
        _default_http_get(handler)
    for variable in _objects(container.get("env")):
        _default_source(variable.get("valueFrom"))


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _default_probe(probe: Obj) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    _default_http_get(probe)
    if isinstance(probe.get("grpc"), dict):
        probe["grpc"]["service"] = probe["grpc"].get("service") or ""


def _default_http_get(handler: Any) -> None:
    action = dig(handler, "httpGet")
    if isinstance(action, dict):
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")


def _default_source(source: Any) -> None:
    if isinstance(dig(source, "fieldRef"), dict):
        source["fieldRef"].setdefault("apiVersion", "v1")
    if isinstance(dig(source, "resourceFieldRef"), dict):
        source["resourceFieldRef"].setdefault("divisor", "0")


def _default_volume(volume: Obj) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(name), dict):
            volume[name].setdefault("defaultMode", _DEFAULT_MODE)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    items = list(_objects(dig(volume, "downwardAPI", "items")))
    for source in _objects(dig(volume, "projected", "sources")):
        items += _objects(dig(source, "downwardAPI", "items"))
        if isinstance(source.get("serviceAccountToken"), dict):
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    for item in items:
        _default_source(item)
    claim = dig(volume, "ephemeral", "volumeClaimTemplate", "spec")
    if isinstance(claim, dict):
        claim.setdefault("volumeMode", "Filesystem")


def template_problems(template: Obj, field: str, *, restart: tuple[str, ...] = ("Always",)) -> list[FieldProblem]:
    """Check a pod template; `restart` names the restart policies that its owner allows."""
    problems = label_problems(dig(template, "metadata", "labels", default={}), f"{field}.metadata.labels")
    spec = template.get("spec") or {}
    problems += pod_spec_problems(spec, f"{field}.spec")
    policy = spec.get("restartPolicy")
    if policy not in restart:
        problems.append(unsupported_value(f"{field}.spec.restartPolicy", policy, restart))
    return problems


def pod_spec_problems(spec: Obj, field: str) -> list[FieldProblem]:
    """Check a pod spec."""
    problems: list[FieldProblem] = []
    volumes = _volume_problems(spec, f"{field}.volumes", problems)
    if not spec.get("containers"):
        problems.append(required_value(f"{field}.containers"))
    names: set[str] = set()
    for listed in _CONTAINER_LISTS:
        for place, container in enumerate(_objects(spec.get(listed))):
            problems += _container_problems(container, f"{field}.{listed}[{place}]", names, volumes)
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        problems.append(unsupported_value(f"{field}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES))
    policies = ("Always", "OnFailure", "Never")
    if spec.get("restartPolicy") not in policies:
        problems.append(unsupported_value(f"{field}.restartPolicy", spec.get("restartPolicy"), policies))
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        problems.append(
            invalid_value(f"{field}.terminationGracePeriodSeconds", grace, "must be greater than or equal to 0")
        )
    return problems


def _volume_problems(spec: Obj, field: str, problems: list[FieldProblem]) -> set[str]:
    names: set[str] = set()
    for place, volume in enumerate(_objects(spec.get("volumes"))):
        name = str(volume.get("name") or "")
        at = f"{field}[{place}].name"
        if not name:
            problems.append(required_value(at))
        else:
            problems += [invalid_value(at, name, told) for told in name_problems(name, "label")]
        if name in names:
            problems.append(duplicate_value(at, name))
        names.add(name)
    return names


def _container_problems(container: Obj, field: str, names: set[str], volumes: set[str]) -> list[FieldProblem]:
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
    problems += _port_problems(container, f"{field}.ports")
    problems += _environment_problems(container, f"{field}.env")
    problems += _mount_problems(container, f"{field}.volumeMounts", volumes)
    policy = container.get("imagePullPolicy")
    if policy not in _PULL_POLICIES:
        problems.append(unsupported_value(f"{field}.imagePullPolicy", policy, _PULL_POLICIES))
    return problems + resource_problems(container.get("resources") or {}, f"{field}.resources")


def _port_problems(container: Obj, field: str) -> list[FieldProblem]:
    problems = []
    for place, port in enumerate(_objects(container.get("ports"))):
        number = port.get("containerPort")
        if number is None or number == 0:
            problems.append(required_value(f"{field}[{place}].containerPort"))
        elif isinstance(number, int) and not 0 < number < 65536:
            told = "must be between 1 and 65535, inclusive"
            problems.append(invalid_value(f"{field}[{place}].containerPort", number, told))
        if port.get("protocol") not in ("TCP", "UDP", "SCTP"):
            at = f"{field}[{place}].protocol"
            problems.append(unsupported_value(at, port.get("protocol"), ("SCTP", "TCP", "UDP")))
    return problems


def _environment_problems(container: Obj, field: str) -> list[FieldProblem]:
    problems = []
    for place, variable in enumerate(_objects(container.get("env"))):
        if not variable.get("name"):
            problems.append(required_value(f"{field}[{place}].name"))
        if variable.get("value") and variable.get("valueFrom"):
            told = "may not be specified when `value` is not empty"
            problems.append(invalid_value(f"{field}[{place}].valueFrom", "", told))
    return problems


def _mount_problems(container: Obj, field: str, volumes: set[str]) -> list[FieldProblem]:
    problems = []
    paths: set[str] = set()
    for place, mount in enumerate(_objects(container.get("volumeMounts"))):
        name, path = str(mount.get("name") or ""), str(mount.get("mountPath") or "")
        at = f"{field}[{place}]"
        if not name:
            problems.append(required_value(f"{at}.name"))
        elif name not in volumes:
            problems.append(FieldProblem(f"{at}.name", "FieldValueNotFound", f'Not found: "{name}"'))
        if not path:
            problems.append(required_value(f"{at}.mountPath"))
        elif path in paths:
            problems.append(invalid_value(f"{at}.mountPath", path, "must be unique"))
        paths.add(path)
    return problems


def resource_problems(resources: Obj, field: str) -> list[FieldProblem]:
    """Check that quantities can be read and that no request passes its limit."""
    problems = []
    limits: dict[str, Any] = resources.get("limits") or {}
    for kind in ("limits", "requests"):
        for name, amount in (resources.get(kind) or {}).items():
            try:
                value = parse_quantity(str(amount))
            except ValueError:
                continue  # refused before, when the body was read
            if value < 0:
                at = f"{field}.{kind}.{name}"
                problems.append(invalid_value(at, amount, "must be greater than or equal to 0"))
            if kind == "requests" and name in limits and value > parse_quantity(str(limits[name])):
                told = f"must be less than or equal to {name} limit of {limits[name]}"
                problems.append(invalid_value(f"{field}.requests", amount, told))
    return problems
