"""What a global load balancer has to know of a cluster: its version, and on which node ports its Services are.

Reading is here, and so is the judgement on what was read, which is pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, annotations_of, dig, name_of
from hanse.kube.resources import PODS, SERVICES
from hanse.kube.transport import Unreachable
from hanse.services.ingress.manifest import Backend

# A Service says by these which of its ports speak HTTPS; the former counts where both are there.
_PROTOCOL_ANNOTATIONS = ("cloud.google.com/app-protocols", "service.alpha.kubernetes.io/app-protocols")
NO_DEFAULT = "unexpected: ing.spec.backend is nil. Multicluster ingress needs a user-specified default backend"
_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_OLDEST = (1, 8, 1)
# That one release made no instance groups for an Ingress of many clusters.
_BROKEN = (1, 10, 0)


@dataclass(frozen=True, slots=True)
class NodePort:
    """A port that every node of a cluster has for a Service; `path` is what its pods' own readiness probes ask for."""

    number: int
    protocol: str = "HTTP"
    path: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """What one cluster has: a node port for each backend, or the sentence that says why there is none."""

    version: str
    ports: Mapping[Backend, NodePort | str] = field(default_factory=dict)


def survey_problems(
    surveys: Mapping[str, Survey], backends: Sequence[Backend], default: Backend | None, namespace: str
) -> list[str]:
    """Return all that keeps these clusters from standing behind one load balancer, a sentence each."""
    problems = [
        f"cluster {name} (ver {survey.version.removeprefix('v')}) is not running a supported kubernetes version. "
        "Need >= 1.8.1 and not 1.10.0"
        for name, survey in sorted(surveys.items())
        if not is_supported(survey.version)
    ]
    if default is None:
        problems.append(NO_DEFAULT)
    for backend in backends:
        if problem := _port_problem(surveys, backend, namespace):
            which = "default backend service" if backend == default else "service"
            problems.append(f"nodePort validation error for {which} '{namespace}/{backend.service}': {problem}")
    return problems


def is_supported(version: str) -> bool:
    """Tell whether a cluster of this version can stand behind a load balancer of many clusters."""
    found = _VERSION.match(version)
    if found is None:
        return False
    number = (int(found[1]), int(found[2]), int(found[3]))
    return number >= _OLDEST and number != _BROKEN


def _port_problem(surveys: Mapping[str, Survey], backend: Backend, namespace: str) -> str:
    seen: dict[int, str] = {}
    for name, survey in sorted(surveys.items()):
        port = survey.ports.get(backend, "it was not looked for")
        if isinstance(port, str):
            return f"could not get service NodePort in cluster '{name}': {port}"
        seen.setdefault(port.number, name)
    if len(seen) < 2:
        return ""
    (first, where), (other, elsewhere), *_ = seen.items()
    return (
        f"some instances of the '{namespace}/{backend.service}' Service (e.g. in '{where}') are on NodePort {first}, "
        f"but '{elsewhere}' is on {other}. All clusters must use same NodePort"
    )


def health_path(surveys: Mapping[str, Survey], backend: Backend) -> tuple[str, str]:
    """Return the path that health checks ask for, and what is wrong with it: clusters must not differ in it."""
    path = ""
    for name, survey in sorted(surveys.items()):
        port = survey.ports.get(backend)
        own = port.path if isinstance(port, NodePort) else ""
        if path and own and own != path:
            return path, (
                f"readiness probe path '{own}' from pod spec in cluster '{name}' does not match already extracted "
                f"health check path '{path}'"
            )
        path = path or own
    return (path if path.startswith("/") else f"/{path}"), ""


async def survey(client: Client, namespace: str, backends: Sequence[Backend]) -> Survey:
    """Look at a cluster; what is wrong with a Service is an answer, a cluster that gives none is an error."""
    version = await client.version()
    return Survey(version, {backend: await _node_port(client, namespace, backend) for backend in backends})


async def _node_port(client: Client, namespace: str, backend: Backend) -> NodePort | str:
    service = await client.find(SERVICES, backend.service, namespace)
    if service is None:
        return f"there is no Service {namespace}/{backend.service}"
    port = port_of(service, backend.port)
    if port is None:
        return f"Service {namespace}/{backend.service} has no port {backend.port}"
    if not port.get("nodePort"):
        return (
            f"port {backend.port} of Service {namespace}/{backend.service} has no nodePort; make it a NodePort Service"
        )
    return NodePort(port["nodePort"], protocol_of(service, port), await _probe_path(client, service, port))


def port_of(service: Obj, port: str) -> Obj | None:
    """Return a Service's port of this number or name."""
    ports: list[Obj] = dig(service, "spec", "ports", default=[])
    return next((each for each in ports if port in (str(each.get("port")), each.get("name"))), None)


def protocol_of(service: Obj, port: Obj) -> str:
    """Return what is spoken on a port: HTTP unless the Service says HTTPS."""
    given = next((text for name in _PROTOCOL_ANNOTATIONS if (text := annotations_of(service).get(name))), "")
    try:
        said = orjson.loads(given) if given else {}
    except orjson.JSONDecodeError:
        said = {}
    return "HTTPS" if dig(said, port.get("name") or "") == "HTTPS" else "HTTP"


async def _probe_path(client: Client, service: Obj, port: Obj) -> str:
    selector = dig(service, "spec", "selector", default={})
    if not selector:
        return ""
    labels = ",".join(f"{name}={value}" for name, value in sorted(selector.items()))
    try:
        pods = await client.list(PODS, service["metadata"]["namespace"], labels=labels)
    except (ApiError, Unreachable):
        # Whoever may not look at pods has health checks of the default path.
        return ""
    found = (probe_path(pod, port) for pod in sorted(pods.items, key=name_of))
    return next((path for path in found if path), "")


def probe_path(pod: Obj, port: Obj) -> str:
    """Return the path of a pod's plain HTTP readiness probe of a Service's port, "" where it has none."""
    for container in dig(pod, "spec", "containers", default=[]):
        asked = dig(container, "readinessProbe", "httpGet", default={})
        names = {each.get("name"): each.get("containerPort") for each in container.get("ports") or ()}
        target = port.get("targetPort", port.get("port"))
        if asked and names.get(asked.get("port"), asked.get("port")) == names.get(target, target):
            return str(asked.get("path") or "/")
    return ""
