"""The layout in which CoreDNS' etcd plugin finds records: SkyDNS messages under the labels of a name in reverse.

Every value has a key of its own below its name, called by the value's type and hash. The plugin answers a name with
everything below it, and so would mix what `_https._tcp.NAME` and `CLUSTER.NAME` have into the answers of NAME; the
message's `group` keeps each name's apart. A CNAME is at its name itself too, where the plugin looks for it when it is
asked for a CNAME and nothing else. What cannot be told from a message (SRV and CNAME look alike) is in a field of it
that CoreDNS does not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

import orjson

from hanse.services.providers.texts import canonical_txt, txt_content, txt_value, undotted
from hanse.services.records import AAAA, CNAME, SRV, TXT, A, Datum, RecordSet

_FIELD = "hanse"
_HASHED = re.compile("[0-9a-f]{8}")
# The plugin's own, for messages that have none.
_DEFAULT_TTL_SECONDS = 300
_FNV_START, _FNV_PRIME, _WORD = 2166136261, 16777619, 0xFFFFFFFF


def zone_prefix(prefix: str, zone: str) -> str:
    """Return what the keys of a zone begin with."""
    return f"{prefix}/{_path(zone)}/"


def set_prefix(record: RecordSet, prefix: str) -> str:
    """Return what the keys of all values of a name and type begin with, and no other key."""
    return f"{prefix}/{_path(record.name)}/hanse-{record.type.lower()}-"


def keys_of(record: RecordSet, prefix: str) -> dict[str, bytes]:
    """Return the keys of a record set, and the message of each."""
    stem = set_prefix(record, prefix)
    keys = {f"{stem}{_hashed(value)}": _message(record, value) for value in record.values}
    if record.type == CNAME:
        keys |= {f"{prefix}/{_path(record.name)}": _message(record, value) for value in record.values}
    return keys


def read_keys(keys: Mapping[str, bytes], prefix: str) -> list[RecordSet]:
    """Read everything that a zone has, other people's messages included."""
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for key, content in keys.items():
        message = _decoded(content)
        ttl = int(message.get("ttl", _DEFAULT_TTL_SECONDS))
        for name, kind, value in _own(message) or _foreign(message, _name(key.removeprefix(f"{prefix}/"))):
            found.setdefault((name, kind), []).append((value, ttl))
    return sorted(_record(name, kind, values) for (name, kind), values in found.items())


def _record(name: str, kind: str, values: list[tuple[str, int]]) -> RecordSet:
    # Values of one set that were written by hand may differ in their TTL; resolvers take the least.
    return RecordSet(name, kind, min(ttl for _, ttl in values), tuple(sorted({Datum(value) for value, _ in values})))


def _message(record: RecordSet, value: str) -> bytes:
    message: dict[str, Any] = {"ttl": record.ttl, "group": record.name}
    match record.type:
        case "SRV":
            priority, weight, port, target = value.split()
            message |= {"priority": int(priority), "weight": int(weight), "port": int(port), "host": undotted(target)}
        case "TXT":
            message["text"] = txt_content(value).decode(errors="replace")
        case "CNAME":
            message["host"] = undotted(value)
        case _:
            message["host"] = value
    message[_FIELD] = {"name": record.name, "type": record.type, "value": value}
    return orjson.dumps(message, option=orjson.OPT_SORT_KEYS)


def _decoded(content: bytes) -> dict[str, Any]:
    """Read a message; what is none still occupies its name."""
    try:
        message = orjson.loads(content)
    except orjson.JSONDecodeError:
        message = None
    return message if isinstance(message, dict) else {"text": content.decode(errors="replace")}


def _own(message: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return name, type and value of a message that Hanse wrote, nothing for others."""
    told = message.get(_FIELD)
    if not isinstance(told, dict) or not {"name", "type", "value"} <= told.keys():
        return []
    return [(str(told["name"]), str(told["type"]), str(told["value"]))]


def _foreign(message: Mapping[str, Any], name: str) -> Iterable[tuple[str, str, str]]:
    """Yield name, type and value of a message that Hanse did not write."""
    host = str(message.get("host") or "")
    if message.get("text") or not host:
        yield name, TXT, canonical_txt(txt_value(str(message.get("text") or "")))
    if not host:
        return
    try:
        yield name, (A if ip_address(host).version == 4 else AAAA), host
    except ValueError:
        port = message.get("port")
        srv = f"{message.get('priority', 0)} {message.get('weight', 0)} {port} {undotted(host)}."
        yield (name, SRV, srv) if port else (name, CNAME, f"{undotted(host)}.")


def _name(path: str) -> str:
    """Return the name at which CoreDNS answers a key; a last label that is a hash only tells values apart."""
    labels = path.split("/")
    return ".".join(reversed(labels[:-1] if _HASHED.fullmatch(labels[-1]) else labels))


def _path(name: str) -> str:
    return "/".join(reversed(name.split(".")))


def _hashed(text: str) -> str:
    """Return FNV-1a of 32 bits in hexadecimal, by which federation v1 told values apart too."""
    state = _FNV_START
    for byte in text.encode():
        state = ((state ^ byte) * _FNV_PRIME) & _WORD
    return f"{state:08x}"
