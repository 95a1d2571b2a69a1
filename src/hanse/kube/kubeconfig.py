"""Reading kubeconfig files: which API server, whom to be there, and how to trust it.

The result is an `Endpoint`, a plain value with every byte already loaded, so that nothing later depends on the
folder in which the file lay; only token files and plugins, which exist to change, are looked at again. A file that
cannot be used yields one sentence naming the file and the field.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from hanse.kube.auth.certificates import check_authority
from hanse.kube.auth.endpoint import Endpoint, KubeconfigError, Origin
from hanse.kube.auth.fields import Fields
from hanse.kube.auth.users import read_exec, read_impersonation, read_key_pair, refuse_auth_provider, refuse_two_ways
from hanse.kube.documents import YAML_ERRORS

__all__ = ["Endpoint", "Kubeconfig", "KubeconfigError", "KubeconfigFile"]

# Ten times as fast where PyYAML was built with it; a kubeconfig of 500 clusters is half a megabyte.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class KubeconfigFile:
    """One document with its name in messages and the folder that its relative paths start from."""

    document: dict[str, Any]
    source: str
    folder: Path | None

    @classmethod
    def read(cls, path: Path) -> KubeconfigFile:
        """Read a file."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise KubeconfigError(f"kubeconfig {path} cannot be read: {why}") from error
        return cls.parse(text, f"kubeconfig {path}", path.parent)

    @classmethod
    def parse(cls, text: str, source: str, folder: Path | None) -> KubeconfigFile:
        """Read a document from its text."""
        try:
            # Both choices of loader are safe ones.
            document = yaml.load(text, Loader=_Loader)  # noqa: S506
        except YAML_ERRORS as error:
            mark = getattr(error, "problem_mark", None)
            # The faster parser puts what is missing at the end one line below it.
            line = f" (line {min(mark.line + 1, len(text.splitlines()))})" if mark else ""
            raise KubeconfigError(f"{source} is not valid YAML{line}") from error
        return cls(document, source, folder)

    def __post_init__(self) -> None:
        if not isinstance(self.document, dict):
            raise KubeconfigError(f"{self.source} is not a kubeconfig: its top level must be a mapping")
        kind = self.document.get("kind") or "Config"
        if kind != "Config":
            raise KubeconfigError(f"{self.source} is not a kubeconfig: its kind is {kind}, not Config")

    @property
    def current_context(self) -> str:
        """The context that the document makes the current one; "" where it names none."""
        return str(self.document.get("current-context") or "")

    def entries(self, section: str) -> list[dict[str, Any]]:
        """Return the entries of a section."""
        entries = self.document.get(section) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise KubeconfigError(f"{self.source}: {section} must be a list of mappings")
        return entries

    def find(self, section: str, name: str, inner: str) -> Fields | None:
        """Return what an entry of a section holds; None where there is no entry of that name."""
        found = [entry for entry in self.entries(section) if entry.get("name") == name]
        if not found:
            return None
        if len(found) > 1:
            raise KubeconfigError(f"{self.source}: {section} has {len(found)} entries named {name!r}; keep one of them")
        content = found[0].get(inner) or {}
        if not isinstance(content, dict):
            raise KubeconfigError(f"{self.source}: {section}[{name}].{inner} must be a mapping")
        return Fields(content, source=self.source, where=f"{section}[{name}]", folder=self.folder)


class Kubeconfig:
    """A parsed kubeconfig: one file, or several that count as one."""

    def __init__(self, document: Any, source: str, folder: Path | None, *others: KubeconfigFile) -> None:
        self._files = (KubeconfigFile(document, source, folder), *others)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Kubeconfig:
        """Read a file."""
        return cls._of(KubeconfigFile.read(Path(path).expanduser()))

    @classmethod
    def load_all(cls, paths: Iterable[str | os.PathLike[str]]) -> Kubeconfig:
        """Read the files of a KUBECONFIG list as one, as kubectl does: the first that names a thing wins.

        Files that do not exist are passed over, and so are empty ones; at least one must be left.
        """
        named = list(dict.fromkeys(Path(path).expanduser() for path in paths if str(path)))
        found = [path for path in named if path.exists() and not _is_empty(path)]
        if not found:
            absent = ", ".join(str(path) for path in named)
            raise KubeconfigError(f"there is no kubeconfig: {absent or 'none was named'}")
        return cls._of(*(KubeconfigFile.read(path) for path in found))

    @classmethod
    def parse(cls, text: str, *, source: str = "kubeconfig", folder: Path | None = None) -> Kubeconfig:
        """Read a document that is not (or no longer) a file; without a folder it may not name a command to run."""
        return cls._of(KubeconfigFile.parse(text, source, folder))

    @classmethod
    def _of(cls, first: KubeconfigFile, *others: KubeconfigFile) -> Kubeconfig:
        return cls(first.document, first.source, first.folder, *others)

    @property
    def current_context(self) -> str:
        """The context that counts when none is named; "" where the file names none."""
        return next((file.current_context for file in self._files if file.current_context), "")

    def context_names(self) -> list[str]:
        """Every context, in the order of the files."""
        return self._names("contexts")

    def endpoint(self, context: str = "") -> Endpoint:
        """Return how to reach the API server of a context, the current one by default."""
        name = context or self.current_context
        if not name:
            raise KubeconfigError(f"{self._source}: current-context is not set; name a context")
        chosen = self._named("contexts", name, "context")
        cluster = self._named("clusters", chosen.text("cluster", required=True), "cluster")
        user_name = chosen.text("user")
        user = self._named("users", user_name, "user") if user_name else None
        return _endpoint(chosen, cluster, user or Fields({}, source=cluster.source, where="users[]", folder=None))

    @property
    def _source(self) -> str:
        first, *others = [file.source for file in self._files]
        return ", ".join([first, *(other.removeprefix("kubeconfig ") for other in others)])

    def _names(self, section: str) -> list[str]:
        return list(dict.fromkeys(str(entry.get("name")) for file in self._files for entry in file.entries(section)))

    def _named(self, section: str, name: str, inner: str) -> Fields:
        for file in self._files:
            if (found := file.find(section, name, inner)) is not None:
                return found
        known = ", ".join(self._names(section)) or "none"
        raise KubeconfigError(f"{self._source}: {section} has no entry named {name!r} (it has: {known})")


def _endpoint(chosen: Fields, cluster: Fields, user: Fields) -> Endpoint:
    refuse_auth_provider(user)
    refuse_two_ways(user)
    authority = _authority(cluster)
    certificate, key = read_key_pair(user)
    return Endpoint(
        server=_server(cluster),
        ca=authority,
        insecure=cluster.flag("insecure-skip-tls-verify"),
        tls_server_name=cluster.text("tls-server-name"),
        client_certificate=certificate,
        client_key=key,
        token=user.header("token"),
        token_file=user.path("tokenFile"),
        username=user.text("username"),
        password=user.text("password"),
        proxy_url=_proxy(cluster),
        namespace=chosen.text("namespace") or "default",
        exec_plugin=read_exec(user, cluster, authority),
        impersonation=read_impersonation(user),
        origin=Origin(f"{cluster.source}: {cluster.where}", f"{user.source}: {user.where}"),
    )


def _server(cluster: Fields) -> str:
    server = cluster.text("server", required=True)
    if "://" not in server:
        server = f"https://{server}"
    if not server.startswith(("https://", "http://")):
        raise cluster.fault("server", f"must be an http(s) URL, not {server!r}")
    try:
        parts = urlsplit(server)
        _ = parts.port
    except ValueError as error:
        raise cluster.fault("server", f"is not a URL: {server!r}") from error
    if not parts.hostname:
        raise cluster.fault("server", f"names no host: {server!r}")
    if parts.username or parts.password:
        raise cluster.fault("server", "must not hold a user name or password; put them into the user's entry")
    return parts._replace(query="", fragment="").geturl().rstrip("/")


def _authority(cluster: Fields) -> bytes | None:
    authority = cluster.content("certificate-authority")
    if authority is None:
        return None
    if cluster.flag("insecure-skip-tls-verify"):
        raise cluster.fault("insecure-skip-tls-verify", "and a certificate-authority exclude each other; keep one")
    try:
        check_authority(authority)
    except ValueError as error:
        raise cluster.fault(cluster.spelling("certificate-authority"), str(error)) from error
    return authority


def _proxy(cluster: Fields) -> str:
    proxy = cluster.text("proxy-url")
    if not proxy:
        return ""
    scheme, separator, rest = proxy.partition("://")
    # The URL itself is not quoted: it may carry a password.
    if not separator or not rest:
        raise cluster.fault("proxy-url", "is not a URL; write http://HOST:PORT")
    if scheme != "http":
        raise cluster.fault("proxy-url", f"has the scheme {scheme}, which is not supported; use an http:// proxy")
    return proxy


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0
