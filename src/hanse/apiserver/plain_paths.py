"""Paths that are no resources: health, version, discovery, OpenAPI, the keys of tokens."""

from __future__ import annotations

import orjson

from hanse.apiserver import discovery, openapi, status
from hanse.apiserver.answers import Answer
from hanse.apiserver.core import Core
from hanse.apiserver.tokens import ISSUER
from hanse.kube.manifest import Obj
from hanse.kube.transport import Request

_HEALTH = ("/healthz", "/livez", "/readyz")
_NOT_FOUND = Answer(404, b"404 page not found\n", "text/plain; charset=utf-8")


def is_public(path: str) -> bool:
    """Tell whether a path is answered to anybody."""
    return path == "/version" or any(path == one or path.startswith(f"{one}/") for one in _HEALTH)


def answer_plain_path(core: Core, request: Request) -> Answer:
    """Answer a path that names no resource."""
    path = request.path.rstrip("/") or "/"
    if request.method not in ("GET", "HEAD"):
        if path.startswith(("/api", "/apis")):
            raise status.method_not_allowed()
        return _NOT_FOUND
    if any(path == one or path.startswith(f"{one}/") for one in _HEALTH):
        return Answer(200, b"ok", "text/plain; charset=utf-8")
    if path == "/version":
        return _json(version_info(core.version))
    if path == "/":
        return _json({"paths": _known_paths(core)})
    if path == "/openid/v1/jwks":
        return Answer(200, orjson.dumps(core.signer.key_set()), "application/jwk-set+json")
    if path == "/.well-known/openid-configuration":
        return _json(_openid(request))
    if path.startswith("/openapi"):
        return openapi.answer(core.registry, path, request) or _NOT_FOUND
    return discovery.answer(core.registry, path, request.headers.get("accept", "")) or _NOT_FOUND


def version_info(version: str) -> Obj:
    """Return what /version tells of a version such as `v1.36.3+hanse`."""
    major, minor = version.lstrip("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def _openid(request: Request) -> Obj:
    """Return where service accounts' tokens can be verified; the keys are where the client asked."""
    host = request.headers.get("host", ISSUER.removeprefix("https://"))
    return {
        "issuer": ISSUER,
        "jwks_uri": f"https://{host}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


def _known_paths(core: Core) -> list[str]:
    paths = ["/.well-known/openid-configuration", "/api", "/api/v1", "/apis", *_HEALTH]
    paths += ["/openapi/v2", "/openapi/v3", "/openid/v1/jwks", "/version"]
    for group, versions in core.registry.groups().items():
        if group:
            paths += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
    return sorted(paths)


def _json(body: Obj) -> Answer:
    return Answer(200, orjson.dumps(body))
