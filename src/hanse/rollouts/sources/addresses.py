"""What a `repoUrl` or a `location` says: which sort of source, and where. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from hanse.rollouts.environment import Chart
from hanse.rollouts.sources.problem import BROKEN_CHART_SPEC, CHART_REPO_INTERNAL, SourceProblem

_SCHEMES = ("https", "http", "oci", "file", "configmap")
_OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_CHART_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where something is: for `configmap` the rest is a name, for `file` a path below the configured folder."""

    scheme: str
    rest: str


def chart_address(chart: Chart, mirrors: Mapping[str, str] | None = None) -> Address:
    """Read where a chart is, or where its mirror is; raises SourceProblem."""
    if _CHART_NAME.fullmatch(chart.name) is None:
        raise SourceProblem(BROKEN_CHART_SPEC, f"{described(chart)}: name is not the name of a chart")
    try:
        return read_address(_mirrored(chart.repo_url, mirrors or {}), "chart.repoUrl")
    except ValueError as error:
        raise SourceProblem(CHART_REPO_INTERNAL, f"internal chart repo client error: {error}") from error


def parse_mirrors(written: str) -> dict[str, str]:
    """Read `ADDRESS=MIRROR` pairs between commas; raises ValueError."""
    pairs = [pair.strip().partition("=") for pair in written.split(",") if pair.strip()]
    for address, _, mirror in pairs:
        if not address or not mirror:
            raise ValueError(f"mirrors of charts are written ADDRESS=MIRROR,ADDRESS=MIRROR; {address!r} has none")
    return {address.rstrip("/"): mirror.rstrip("/") for address, _, mirror in pairs}


def location_address(location: str, where: str) -> Address:
    """Read where files are: in a ConfigMap or in the configured folder; raises SourceProblem."""
    try:
        address = read_address(location, where)
    except ValueError as error:
        raise SourceProblem(BROKEN_CHART_SPEC, str(error)) from error
    if address.scheme not in ("configmap", "file"):
        raise SourceProblem(BROKEN_CHART_SPEC, f"{where}: {location!r} must begin with configmap:// or file:///")
    return address


def read_address(written: str, where: str) -> Address:
    """Read an address; raises ValueError with a sentence, and SourceProblem for one with credentials."""
    try:
        parts = urlsplit(written)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f'parse "{written}": {error}') from error
    if parts.scheme not in _SCHEMES or not written.startswith(f"{parts.scheme}://") or re.search(r"\s", written):
        schemes = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        raise ValueError(f'parse "{written}": invalid URI for request; {where} must begin with one of {schemes}')
    if "@" in parts.netloc:
        # The address itself is not repeated: it holds a secret.
        raise SourceProblem(
            BROKEN_CHART_SPEC,
            f"{where} has a user or a password in it, which everybody who reads the application would see; "
            "use a repository that needs none",
        )
    return _address(parts, written, where)


def is_loopback(host: str) -> bool:
    """Tell whether a registry's host is this machine, where TLS is not demanded."""
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def described(chart: Chart) -> str:
    """Name a chart in a sentence, as Shipper does."""
    return f'chart [name: "{chart.name}", version: "{chart.version}", repo: "{chart.repo_url}"]'


def _mirrored(url: str, mirrors: Mapping[str, str]) -> str:
    """Return where an address is looked up: the longest one that it begins with counts."""
    for address in sorted(mirrors, key=len, reverse=True):
        if url.rstrip("/") == address or url.startswith(f"{address}/"):
            return mirrors[address] + url.removeprefix(address)
    return url


def _address(parts: SplitResult, written: str, where: str) -> Address:
    if parts.scheme == "configmap":
        name = parts.netloc
        if _OBJECT_NAME.fullmatch(name) is None or parts.path.strip("/"):
            raise ValueError(f'parse "{written}": {where} must be configmap:// and the name of a ConfigMap')
        return Address("configmap", name)
    if parts.scheme == "file":
        if parts.netloc:
            raise ValueError(f'parse "{written}": {where} must have three slashes, as in file:///charts')
        return Address("file", unquote(parts.path).strip("/"))
    if not parts.hostname:
        raise ValueError(f'parse "{written}": {where} names no host')
    if parts.scheme == "oci":
        return Address("oci", f"{parts.netloc}{parts.path}".rstrip("/"))
    return Address(parts.scheme, written)
