"""URLs: url, isURL and the parts of one."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from hanse.kube.cel.library.function import Function, Opaque, opaque

_UNESCAPED = "/$&+,:;=@~!'()*%"


def _parse(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"URL parse error during conversion from string: {error}") from None
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in text):
        raise ValueError("URL parse error during conversion from string: net/url: invalid control character in URL")
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return parts


def _url(text: str) -> Opaque:
    _parse(text)
    return {"url": text}


def _is_url(text: str) -> bool:
    try:
        _parse(text)
    except ValueError:
        return False
    return True


def _of(value: Opaque) -> SplitResult:
    return urlsplit(str(opaque(value, "url")))


def _host(value: Opaque) -> str:
    return _of(value).netloc.rpartition("@")[2]


def _hostname(value: Opaque) -> str:
    host = _host(value)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(value: Opaque) -> str:
    port = _of(value).port
    return "" if port is None else str(port)


def _path(value: Opaque) -> str:
    return quote(_of(value).path, safe=_UNESCAPED)


def _query(value: Opaque) -> dict[str, list[str]]:
    return parse_qs(_of(value).query, keep_blank_values=True)


FUNCTIONS = (
    Function("url", ("string",), "dyn", _url, member=False),
    Function("isURL", ("string",), "bool", _is_url, member=False),
    Function("getScheme", ("dyn",), "string", lambda value: _of(value).scheme),
    Function("getHost", ("dyn",), "string", _host),
    Function("getHostname", ("dyn",), "string", _hostname),
    Function("getPort", ("dyn",), "string", _port),
    Function("getEscapedPath", ("dyn",), "string", _path),
    Function("getQuery", ("dyn",), "map", _query),
)
