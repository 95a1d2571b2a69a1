"""Addresses and networks: ip, isIP, cidr, isCIDR and what can be asked of them."""

from __future__ import annotations

import ipaddress
from typing import Any

from hanse.kube.cel.library.function import Function, Opaque, opaque

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _parse_ip(text: str) -> Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(
            f"IP Address {_quoted(text)} parse error during conversion from string: "
            f"ParseAddr({_quoted(text)}): unable to parse IP"
        ) from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"IP address {_quoted(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise ValueError(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    return address


def _parse_cidr(text: str) -> Interface:
    refusal = ValueError(
        f"network address parse error during conversion from string: netip.ParsePrefix({_quoted(text)}): invalid prefix"
    )
    address, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdigit() or length != str(int(length)):
        raise refusal
    _parse_ip(address)
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        raise refusal from None


def _quoted(text: str) -> str:
    return f'"{text}"'


def _ip(text: str) -> Opaque:
    return {"ip": str(_parse_ip(text))}


def _is_ip(text: str) -> bool:
    try:
        _parse_ip(text)
    except ValueError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_parse_ip(text)) == text


def _address(value: Opaque) -> Address:
    return ipaddress.ip_address(str(opaque(value, "ip")))


def _is_global_unicast(value: Opaque) -> bool:
    address = _address(value)
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and str(address) != "255.255.255.255"


def _is_link_local_multicast(value: Opaque) -> bool:
    address = _address(value)
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address.is_multicast and address.packed[1] & 0x0F == 2


def _cidr(text: str) -> Opaque:
    return {"cidr": str(_parse_cidr(text))}


def _is_cidr(text: str) -> bool:
    try:
        _parse_cidr(text)
    except ValueError:
        return False
    return True


def _interface(value: Opaque) -> Interface:
    return ipaddress.ip_interface(str(opaque(value, "cidr")))


def _contains_ip(value: Opaque, other: Any) -> bool:
    address = _parse_ip(other) if isinstance(other, str) else _address(other)
    network = _interface(value).network
    return address.version == network.version and address in network


def _contains_cidr(value: Opaque, other: Any) -> bool:
    inner = (_parse_cidr(other) if isinstance(other, str) else _interface(other)).network
    outer = _interface(value).network
    if isinstance(inner, ipaddress.IPv4Network):
        return isinstance(outer, ipaddress.IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, ipaddress.IPv6Network) and inner.subnet_of(outer)


def _written(value: Opaque) -> str:
    return str(next(iter(value.values()))) if len(value) == 1 else ""


FUNCTIONS = (
    Function("ip", ("string",), "dyn", _ip, member=False),
    Function("isIP", ("string",), "bool", _is_ip, member=False),
    Function("ip.isCanonical", ("string",), "bool", _is_canonical, member=False),
    Function("family", ("dyn",), "int", lambda value: _address(value).version),
    Function("isUnspecified", ("dyn",), "bool", lambda value: _address(value).is_unspecified),
    Function("isLoopback", ("dyn",), "bool", lambda value: _address(value).is_loopback),
    Function("isLinkLocalUnicast", ("dyn",), "bool", lambda value: _address(value).is_link_local),
    Function("isLinkLocalMulticast", ("dyn",), "bool", _is_link_local_multicast),
    Function("isGlobalUnicast", ("dyn",), "bool", _is_global_unicast),
    Function("cidr", ("string",), "dyn", _cidr, member=False),
    Function("isCIDR", ("string",), "bool", _is_cidr, member=False),
    Function("containsIP", ("dyn", "dyn"), "bool", _contains_ip),
    Function("containsCIDR", ("dyn", "dyn"), "bool", _contains_cidr),
    Function("ip", ("dyn",), "dyn", lambda value: {"ip": str(_interface(value).ip)}),
    Function("masked", ("dyn",), "dyn", lambda value: {"cidr": str(_interface(value).network)}),
    Function("prefixLength", ("dyn",), "int", lambda value: _interface(value).network.prefixlen),
    Function("string", ("map",), "string", _written, member=False),
)
