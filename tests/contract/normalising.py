"""Makes answers of two servers comparable: what must differ between any two runs gets a common name."""

from __future__ import annotations

import re
from typing import Any

from tests.contract.playing import Played

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CLUSTER_IP = re.compile(r"10\.96\.\d{1,3}\.\d{1,3}")
_JWT = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_HASH = re.compile(r"\?hash=[0-9A-F]+")
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
_AGE = re.compile(r"^(\d+s|<invalid>)$")
_TOO_OLD = re.compile(r"too old resource version: \d+ \(\d+\)")
_TOO_LARGE = re.compile(r"Too large resource version: \d+, current: \d+")
_IN_RECORD = re.compile(r"in record \(\d+\)")
_PREFIXED = re.compile(r"(kube-api-access-)[a-z0-9]{5}")
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?", re.DOTALL)
_TEXTS = (
    (_PEM, "<certificate>"),
    (_UID, "<uid>"),
    (_MICRO_TIME, "<micro-time>"),
    (_TIME, "<time>"),
    (_CLUSTER_IP, "<cluster-ip>"),
    (_JWT, "<jwt>"),
    (_HASH, "?hash=<hash>"),
    (_ADDRESS, "<address>"),
    (_AGE, "<age>"),
    (_TOO_OLD, "too old resource version: <n> (<n>)"),
    (_TOO_LARGE, "Too large resource version: <n>, current: <n>"),
    (_IN_RECORD, "in record (<n>)"),
    (_PREFIXED, r"\1<suffix>"),
)
# What names the build of a server, not its behaviour.
_BUILD = ("gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")
_NODE_PORTS = range(30000, 32768)


def normalised(played: Played) -> Any:
    """Return an answer without what differs between two runs of the same server."""
    return {"code": played.code, "headers": _value(played.headers), "body": _value(played.body)}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _object(value)
    if isinstance(value, list):
        return [_value(one) for one in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    for pattern, name in _TEXTS:
        text = pattern.sub(name, text)
    return text


def _object(value: dict[str, Any]) -> dict[str, Any]:
    shown = {_text(key): _field(key, one) for key, one in value.items()}
    if isinstance(value.get("generateName"), str) and str(value.get("name", "")).startswith(value["generateName"]):
        shown["name"] = f"{value['generateName']}<suffix>"
    return shown


def _owner(entry: Any) -> tuple[str, ...]:
    return tuple(str(entry.get(name, "")) for name in ("manager", "operation", "apiVersion", "subresource"))


def _field(key: str, value: Any) -> Any:
    if key == "resourceVersion" and isinstance(value, str):
        return "<version>" if value not in ("", "0") else value
    if key == "continue" and value:
        return "<continue>"
    if key == "managedFields" and isinstance(value, list):
        # Their order follows the seconds in which they were written.
        return sorted(_value(value), key=_owner)
    if key in ("resourceRules", "nonResourceRules") and isinstance(value, list):
        return sorted(_value(value), key=str)
    if key in _BUILD:
        return "<build>"
    if key in ("nodePort", "healthCheckNodePort") and value in _NODE_PORTS:
        return "<node-port>"
    return _value(value)
