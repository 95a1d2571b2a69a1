"""The subresource `proxy` of pods and services: HTTP to what runs in the cluster, through the API server."""

from __future__ import annotations

from dataclasses import replace

from hanse.apiserver import admission, status
from hanse.apiserver.answers import Answer
from hanse.apiserver.core import Call
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, dig
from hanse.kube.transport import Request, Response

_SECONDS = 30.0
# What belongs to the connection with the API server and not to the request that is passed on.
_OWN_HEADERS = {
    "authorization",
    "connection",
    "content-length",
    "host",
    "transfer-encoding",
    "upgrade",
    "accept-encoding",
}
_OWN_ANSWERS = {"connection", "content-length", "content-encoding", "transfer-encoding"}


async def proxy(call: Call) -> Answer:
    """Pass a request on and answer with what came back."""
    scheme, name, port = _target(call.path.name, call.served.resource.singular)
    request = _inner(call)
    await admission.admit_connection(call)
    if not call.path.below:
        # A page's relative links work only below a path that ends in a slash.
        return Answer(301, b"", "text/plain", {"Location": f"{call.request.path}/"})
    if call.served.bucket == "core/services":
        response = await _to_service(call, scheme, name, port, request)
    else:
        response = await _to_pod(call, name, port or _first_port(call, name), request)
    headers = {key: value for key, value in response.headers.items() if key.lower() not in _OWN_ANSWERS}
    kind = headers.pop("content-type", headers.pop("Content-Type", "text/plain; charset=utf-8"))
    return Answer(response.status, response.body, kind, headers)


def _target(name: str, kind: str) -> tuple[str, str, str]:
    """Read `name`, `name:port` or `scheme:name:port`."""
    parts = name.split(":")
    if len(parts) == 1:
        return "http", parts[0], ""
    if len(parts) == 2:
        return "http", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return parts[0] or "http", parts[1], parts[2]
    raise status.bad_request(f'invalid {kind} request "{name}"')


def _inner(call: Call) -> Request:
    headers = {key: value for key, value in call.request.headers.items() if key not in _OWN_HEADERS}
    return replace(call.request, path=call.path.below or "/", headers=headers)


def _first_port(call: Call, name: str) -> str:
    pod = call.core.read(call.served, call.namespace, name)
    if pod is None:
        raise status.not_found(call.served.resource, name)
    for container in dig(pod, "spec", "containers", default=[]):
        for port in container.get("ports") or ():
            return str(port["containerPort"])
    return ""


async def _to_pod(call: Call, name: str, port: str, request: Request) -> Response:
    pods = call.core.registry.find("", "v1", "pods")
    if pods is None or call.core.record(pods, call.namespace, name) is None:
        raise status.not_found(call.served.resource, name)
    if call.core.pods.http is None:
        raise _unavailable(f"nothing answers for pod {name}")
    try:
        return await call.core.pods.http(call.namespace, name, port, request)
    except OSError as error:
        raise _unavailable(f"error trying to reach service: {error.strerror or error}") from None


async def _to_service(call: Call, scheme: str, name: str, port: str, request: Request) -> Response:
    service = call.core.read(call.served, call.namespace, name)
    slices = _slices(call, name)
    address = _balancer(service or {})
    # A service that nothing was ever put behind is, to upstream's proxy, not there.
    if service is None or not (slices or address):
        raise status.not_found(call.served.resource, name)
    entry = _service_port(service, port)
    if entry is None:
        raise _unavailable(f'no service port "{port}" found for service "{name}"')
    if call.core.pods.http is not None:
        pod, target = _ready_pod(slices, entry)
        if pod:
            return await _to_pod(call, pod, target, request)
    if not address:
        raise _unavailable(f'no endpoints available for service "{name}"')
    return await _fetch(f"{scheme}://{address}:{entry['port']}", request)


def _balancer(service: Obj) -> str:
    ingress: list[Obj] = dig(service, "status", "loadBalancer", "ingress", default=[])
    return next((str(one["ip"]) for one in ingress if one.get("ip")), "")


def _service_port(service: Obj, wanted: str) -> Obj | None:
    ports: list[Obj] = dig(service, "spec", "ports", default=[])
    if not wanted:
        return ports[0] if ports else None
    return next((one for one in ports if wanted in (one.get("name"), str(one.get("port")))), None)


def _slices(call: Call, service: str) -> list[Obj]:
    served = call.core.registry.find("discovery.k8s.io", "v1", "endpointslices")
    if served is None:
        return []
    records = call.core.storage.scan(served.bucket, f"{call.namespace}/")
    manifests = (call.core.stored_form(served, record.value) for record in records)
    label = "kubernetes.io/service-name"
    return [one for one in manifests if dig(one, "metadata", "labels", label) == service]


def _ready_pod(slices: list[Obj], entry: Obj) -> tuple[str, str]:
    """Return a pod behind a service's port and the port that it listens on itself."""
    for manifest in slices:
        ports: list[Obj] = manifest.get("ports") or []
        port: Obj = next((one for one in ports if (one.get("name") or "") == (entry.get("name") or "")), {})
        for endpoint in manifest.get("endpoints") or ():
            if dig(endpoint, "conditions", "ready", default=True) and dig(endpoint, "targetRef", "kind") == "Pod":
                return str(endpoint["targetRef"]["name"]), str(port.get("port", ""))
    return "", ""


async def _fetch(base: str, request: Request) -> Response:
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        # TLS of what is proxied to is not verified, as upstream does not.
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(
                request.method,
                f"{base}{request.path}",
                params=list(request.query),
                headers=dict(request.headers),
                data=request.body,
                ssl=False,
                allow_redirects=False,
            ) as answer,
        ):
            return Response(answer.status, dict(answer.headers), await answer.read())
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _unavailable(f"error trying to reach service: {error}") from None


def _unavailable(message: str) -> ApiError:
    return status.failure(503, "ServiceUnavailable", message)
