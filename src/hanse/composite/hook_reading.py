"""Reading the hooks of a controller object: how each is called, with which limits, and who knows whom.

Types and enumerations have been checked by then (see `reading`); what is left are the rules between fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from hanse.api.metacontroller.hook_schemas import (
    AN_ADDRESS,
    NOT_BASIC,
    ONE_CA,
    ONE_CREDENTIAL,
    ONE_LIBRARY,
    ONE_PYTHON_SOURCE,
    ONE_SOURCE,
    ONE_WAY,
)
from hanse.composite.spec import (
    Endpoint,
    ETags,
    HookSpec,
    JsonnetSpec,
    PythonSpec,
    SecretKey,
    SourceSpec,
    Version,
    WebhookSpec,
)
from hanse.kube.quantities import whole_units

_DEFAULT_TIMEOUT_SECONDS = 10.0
# Go counts nanoseconds in 63 bits.
_LONGEST_DURATION_SECONDS = 2**63 / 1e9
_PYTHON_MEMORY = 256 * 1024 * 1024
_JSONNET_MEMORY = 512 * 1024 * 1024
_SOURCES = ("file", "configMap", "inline")
_WAYS = ("webhook", "python", "jsonnet")
_ENDPOINT_FIELDS = ("caBundle", "clientTLS", "authorization", "basicAuth")
_USUAL_PORTS = {"http": 80, "https": 443}
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"[+-]?({_PART.pattern})+|[+-]?0")

Raw = Mapping[str, Any]


class FieldProblem(Exception):
    """One thing that is wrong with a controller object: the field and the sentence."""

    def __init__(self, path: str, sentence: str) -> None:
        super().__init__(f"{path}: {sentence}")


def is_called(raw: Raw | None) -> bool:
    """Tell whether a hook says how it is called; one that does not is as good as none."""
    return raw is not None and any(raw.get(way) is not None for way in _WAYS)


def read_hook(raw: Raw | None, path: str, endpoints: Sequence[Raw], function: str) -> HookSpec | None:
    """Read one hook; None where there is no way to call it. `function` is what its Python function is named.

    Raises FieldProblem.
    """
    if raw is None or not is_called(raw):
        return None
    given = _only(raw, _WAYS, path, ONE_WAY)
    version = Version(raw.get("version") or Version.V1)
    way, where = raw[given], f"{path}.{given}"
    match given:
        case "webhook":
            return HookSpec(_webhook(way, where, version, endpoints), version)
        case "python":
            return HookSpec(_python(way, where, function), version)
        case _:
            return HookSpec(_jsonnet(way, where), version)


def check_endpoints(endpoints: Sequence[Raw], path: str) -> list[str]:
    """Return what is wrong with the settings of hosts, whether or not a hook is called there."""
    problems = []
    for index, raw in enumerate(endpoints):
        try:
            _endpoint(raw, f"{path}[{index}]")
        except FieldProblem as problem:
            problems.append(str(problem))
    return problems


def _webhook(raw: Raw, path: str, version: Version, endpoints: Sequence[Raw]) -> WebhookSpec:
    url, field = _url(raw, path)
    address = _checked(url, field)
    own = any(raw.get(field) is not None for field in _ENDPOINT_FIELDS)
    host = next((each for each in endpoints if _is_host(each["host"], address)), None)
    mode = raw.get("responseUnMarshallMode")
    return WebhookSpec(
        url=url,
        timeout=_timeout(raw, path),
        strict=version is Version.V2 if mode is None else mode == "strict",
        etags=_etags(raw.get("etag") or {}),
        # What is wrong with a host's entry is said once, where the entry is.
        endpoint=_endpoint(raw, path) if own else _quietly(host),
    )


def _quietly(raw: Raw | None) -> Endpoint | None:
    try:
        return None if raw is None else _endpoint(raw, "")
    except FieldProblem:
        return None


def _url(raw: Raw, path: str) -> tuple[str, str]:
    if raw.get("url") is not None:
        return raw["url"], f"{path}.url"
    service, place = raw.get("service"), raw.get("path")
    if service is None or place is None:
        raise FieldProblem(path, AN_ADDRESS)
    protocol, port = (service.get("protocol") or "http").lower(), service.get("port", 80)
    place = place if place.startswith("/") else f"/{place}"
    return f"{protocol}://{service['name']}.{service['namespace']}:{port}{place}", f"{path}.service"


def _checked(url: str, path: str) -> SplitResult:
    try:
        address = urlsplit(url)
        valid = address.scheme in _USUAL_PORTS and bool(address.hostname) and address.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise FieldProblem(path, f'"{url}" is no address; write http:// or https://, a host and a path')
    return address


def _is_host(host: str, address: SplitResult) -> bool:
    """Tell whether settings for `host` are for an address: an omitted port is the usual one of the scheme."""
    usual = _USUAL_PORTS[address.scheme]
    name = address.netloc.rpartition("@")[2].casefold()
    if address.port in (None, usual):
        bare = name.removesuffix(f":{usual}") if address.port else name
        return host.casefold() in (bare, f"{bare}:{usual}")
    return host.casefold() == name


def _etags(raw: Raw) -> ETags | None:
    if not raw.get("enabled"):
        return None
    seconds = raw.get("cacheTimeoutSeconds") or 0
    return ETags(float(seconds) if seconds > 0 else None)


def _endpoint(raw: Raw, path: str) -> Endpoint:
    authority = _authority(raw.get("caBundle"), f"{path}.caBundle")
    tls, authorization, basic = (raw.get(field) or {} for field in _ENDPOINT_FIELDS[1:])
    if authorization and basic:
        raise FieldProblem(path, ONE_CREDENTIAL)
    scheme = (authorization.get("type") or "").strip() or "Bearer"
    if scheme.lower() == "basic":
        raise FieldProblem(f"{path}.authorization.type", NOT_BASIC)
    return Endpoint(
        **authority,
        certificate=_secret(tls, tls.get("certKey") or "tls.crt"),
        private_key=_secret(tls, tls.get("privateKeyKey") or "tls.key"),
        authorization_type=scheme,
        authorization=_secret(authorization, (authorization.get("secretRef") or {}).get("key", "")),
        username=_secret(basic, basic.get("usernameKey") or "username"),
        password=_secret(basic, basic.get("passwordKey") or "password"),
    )


def _authority(raw: Raw | None, path: str) -> dict[str, Any]:
    if raw is None:
        return {}
    given = _only(raw, ("inline", "secretRef", "configMapRef"), path, ONE_CA)
    if given == "inline":
        return {"ca_inline": raw["inline"]}
    field = "ca_secret" if given == "secretRef" else "ca_config_map"
    return {field: _key(raw[given], raw[given].get("key") or "ca.crt")}


def _secret(raw: Raw, key: str) -> SecretKey | None:
    return _key(raw["secretRef"], key) if raw else None


def _key(raw: Raw, key: str) -> SecretKey:
    return SecretKey(raw["name"], raw["namespace"], key)


def _python(raw: Raw, path: str, function: str) -> PythonSpec:
    given = _only(raw, (*_SOURCES, "module"), path, ONE_PYTHON_SOURCE)
    return PythonSpec(
        source=None if given == "module" else _source(raw, given),
        function=raw.get("function") or function,
        module=raw.get("module") or "",
        timeout=_timeout(raw, path),
        memory=_memory(raw, path, _PYTHON_MEMORY),
    )


def _jsonnet(raw: Raw, path: str) -> JsonnetSpec:
    libraries = []
    for index, library in enumerate(raw.get("libraries") or ()):
        given = _only(library, _SOURCES[:2], f"{path}.libraries[{index}]", ONE_LIBRARY)
        libraries.append(_source(library, given))
    return JsonnetSpec(
        source=_source(raw, _only(raw, _SOURCES, path, ONE_SOURCE)),
        libraries=tuple(libraries),
        timeout=_timeout(raw, path),
        memory=_memory(raw, path, _JSONNET_MEMORY),
    )


def _only(raw: Raw, fields: Sequence[str], path: str, sentence: str) -> str:
    given = [field for field in fields if raw.get(field) is not None]
    if len(given) != 1:
        raise FieldProblem(path, sentence)
    return given[0]


def _source(raw: Raw, given: str) -> SourceSpec:
    match given:
        case "file":
            return SourceSpec(path=raw["file"])
        case "configMap":
            return SourceSpec(config_map=_key(raw["configMap"], raw["configMap"]["key"]))
        case _:
            return SourceSpec(inline=raw["inline"])


def _timeout(raw: Raw, path: str) -> float:
    if raw.get("timeout") is None:
        return _DEFAULT_TIMEOUT_SECONDS
    seconds = _seconds(raw["timeout"], f"{path}.timeout")
    return seconds if seconds > 0 else _DEFAULT_TIMEOUT_SECONDS


def _seconds(text: str, path: str) -> float:
    """Return the seconds of a duration as Go writes it."""
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if not _DURATION.fullmatch(text) or seconds > _LONGEST_DURATION_SECONDS:
        raise FieldProblem(path, f'"{text}" is not a duration; write for example 500ms, 10s or 1m30s')
    return -seconds if text.startswith("-") else seconds


def _memory(raw: Raw, path: str, default: int) -> int:
    if raw.get("memory") is None:
        return default
    try:
        size = whole_units(raw["memory"])
    except ValueError:
        size = 0
    if size <= 0:
        raise FieldProblem(f"{path}.memory", f'"{raw["memory"]}" is no amount of memory; write for example 256Mi')
    return size
