"""Pod specs wherever they occur: their defaults, and the rules of the pod as a whole."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.containers import SECCOMP, Surroundings, container_list_problems, user_problems
from hanse.apiserver.builtin.pod_placement import placement_problems, toleration_problems
from hanse.apiserver.builtin.volumes import volume_problems
from hanse.apiserver.names import annotation_problems, label_problems
from hanse.apiserver.status import FieldProblem, invalid_value, required_value, unsupported_value
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import is_whole_number, parse_quantity

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_DEFAULT_MODE = 420
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"


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
    _default_amounts(container.setdefault("resources", {}))
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


def _default_amounts(resources: Any) -> None:
    for kind in ("limits", "requests"):
        amounts = dig(resources, kind)
        for name, amount in (amounts or {}).items():
            thousandths = parse_quantity(str(amount)) * 1000
            if not is_whole_number(thousandths):
                # Nothing finer than a thousandth is counted.
                amounts[name] = f"{math.ceil(thousandths)}m"


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


def template_problems(
    template: Obj, field: str, *, restart: tuple[str, ...] | None = ("Always",)
) -> list[FieldProblem]:
    """Check a pod template; `restart` names the restart policies that its owner allows, None any."""
    metadata = template.get("metadata") or {}
    # Upstream leaves `metadata` out of these two paths.
    problems = label_problems(metadata.get("labels") or {}, f"{field}.labels")
    problems += annotation_problems(metadata, f"{field}.annotations")
    spec = template.get("spec") or {}
    problems += pod_spec_problems(spec, f"{field}.spec")
    policy = spec.get("restartPolicy")
    if restart is not None and policy not in restart:
        problems.append(unsupported_value(f"{field}.spec.restartPolicy", policy, restart))
    return problems


def pod_spec_problems(spec: Obj, field: str) -> list[FieldProblem]:
    """Check a pod spec."""
    problems: list[FieldProblem] = []
    volumes = volume_problems(spec, f"{field}.volumes", problems)
    if not spec.get("containers"):
        problems.append(required_value(f"{field}.containers"))
    around = Surroundings(volumes, spec.get("terminationGracePeriodSeconds"), bool(spec.get("hostNetwork")))
    names: set[str] = set()
    for listed in _CONTAINER_LISTS:
        problems += container_list_problems(spec, listed, field, names, around)
    problems += field_rules.one_of(f"{field}.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
    problems += field_rules.one_of(f"{field}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    problems += _security_problems(spec.get("securityContext") or {}, f"{field}.securityContext")
    problems += placement_problems(spec, field) + _name_problems(spec, field)
    problems += _dns_problems(spec, f"{field}.dnsConfig") + toleration_problems(spec, field)
    return problems + _other_problems(spec, field)


def _security_problems(context: Obj, field: str) -> list[FieldProblem]:
    problems = user_problems(context, field) + field_rules.user_id(f"{field}.fsGroup", context.get("fsGroup"))
    profile = context.get("seccompProfile")
    if isinstance(profile, dict):
        problems += field_rules.one_of(f"{field}.seccompProfile.type", profile.get("type"), SECCOMP)
    for place, one in enumerate(_objects(context.get("sysctls"))):
        name = str(one.get("name") or "")
        if len(name) > 253 or not re.match(_SYSCTL, name):
            told = f"must have at most 253 characters and match regex {_SYSCTL}"
            problems.append(invalid_value(f"{field}.sysctls[{place}].name", name, told))
    return problems


def _name_problems(spec: Obj, field: str) -> list[FieldProblem]:
    problems = []
    for place, one in enumerate(_objects(spec.get("readinessGates"))):
        problems += field_rules.qualified(f"{field}.readinessGates[{place}].conditionType", one.get("conditionType"))
    for place, one in enumerate(_objects(spec.get("schedulingGates"))):
        problems += field_rules.qualified(f"{field}.schedulingGates[{place}]", one.get("name"))
    for name in ("serviceAccountName", "nodeName"):
        problems += field_rules.named(f"{field}.{name}", spec[name]) if spec.get(name) else []
    for name in ("hostname", "subdomain"):
        problems += field_rules.named(f"{field}.{name}", spec[name], "label") if spec.get(name) else []
    return problems


def _dns_problems(spec: Obj, field: str) -> list[FieldProblem]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required_value(field, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            return [
                required_value(
                    f"{field}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None"
                )
            ]
    servers = (config or {}).get("nameservers") or ()
    return [
        problem
        for place, one in enumerate(servers)
        for problem in field_rules.address(f"{field}.nameservers[{place}]", one)
    ]


def _other_problems(spec: Obj, field: str) -> list[FieldProblem]:
    problems = []
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 2**31:
        told = "must be between 1 and 2147483647, inclusive"
        problems.append(invalid_value(f"{field}.activeDeadlineSeconds", deadline, told))
    for place, one in enumerate(_objects(spec.get("hostAliases"))):
        problems += field_rules.address(f"{field}.hostAliases[{place}].ip", one.get("ip"))
    system = dig(spec, "os", "name")
    if system is not None:
        problems += field_rules.one_of(f"{field}.os", system, ("linux", "windows"))
    return problems
