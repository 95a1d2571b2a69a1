"""Reading kubeconfig files: which API server, whom to be there, and how to trust it.

The result is an `Endpoint`, a plain value with every byte already loaded, so that nothing later depends on the
folder in which the file lay. A file that cannot be used yields one sentence naming the file and the field.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class KubeconfigError(ValueError):
    """A kubeconfig that cannot be used, said in one sentence."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One API server as one user; secrets stay out of its repr."""

    server: str
    ca: bytes | None = None
    insecure: bool = False
    tls_server_name: str = ""
    client_certificate: bytes | None = None
    client_key: bytes | None = None
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    proxy_url: str = ""
    namespace: str = "default"

    def __repr__(self) -> str:
        return f"Endpoint(server={self.server!r})"


_UNSUPPORTED_USER_FIELDS = ("exec", "auth-provider")


class Kubeconfig:
    """A parsed kubeconfig file."""

    def __init__(self, document: Any, source: str, folder: Path) -> None:
        if not isinstance(document, dict):
            raise KubeconfigError(f"{source} is not a kubeconfig: its top level must be a mapping")
        self._document = document
        self._source = source
        self._folder = folder

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Kubeconfig:
        """Read a file."""
        where = Path(path).expanduser()
        try:
            text = where.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise KubeconfigError(f"kubeconfig {where} cannot be read: {why}") from error
        return cls.parse(text, source=f"kubeconfig {where}", folder=where.parent)

    @classmethod
    def parse(cls, text: str, *, source: str = "kubeconfig", folder: Path | None = None) -> Kubeconfig:
        """Read a document that is not (or no longer) a file."""
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f" (line {mark.line + 1})" if mark else ""
            raise KubeconfigError(f"{source} is not valid YAML{line}") from error
        return cls(document, source, folder or Path())

    @property
    def current_context(self) -> str:
        """The context that counts when none is named; "" where the file names none."""
        return str(self._document.get("current-context") or "")

    def context_names(self) -> list[str]:
        """Every context of the file, in its order."""
        return [str(entry.get("name")) for entry in self._entries("contexts")]

    def endpoint(self, context: str = "") -> Endpoint:
        """Return how to reach the API server of a context, the current one by default."""
        name = context or self.current_context
        if not name:
            raise KubeconfigError(f"{self._source}: current-context is not set; name a context")
        where = f"contexts[{name}]"
        chosen = self._named("contexts", name, "context")
        cluster_name = self._text(chosen, "cluster", where, required=True)
        cluster = self._named("clusters", cluster_name, "cluster")
        user_name = self._text(chosen, "user", where)
        user = self._named("users", user_name, "user") if user_name else {}
        return self._build(chosen, cluster, f"clusters[{cluster_name}]", user, f"users[{user_name}]")

    def _build(
        self, chosen: dict[str, Any], cluster: dict[str, Any], at_cluster: str, user: dict[str, Any], at_user: str
    ) -> Endpoint:
        for field in _UNSUPPORTED_USER_FIELDS:
            if user.get(field):
                raise KubeconfigError(
                    f"{self._source}: {at_user}.{field} is not supported; use a client certificate or a token"
                )
        server = self._text(cluster, "server", at_cluster, required=True)
        if not server.startswith(("https://", "http://")):
            raise KubeconfigError(f"{self._source}: {at_cluster}.server must be an http(s) URL, not {server!r}")
        certificate = self._bytes(user, "client-certificate", at_user)
        key = self._bytes(user, "client-key", at_user)
        if (certificate is None) != (key is None):
            absent = "client-key" if key is None else "client-certificate"
            raise KubeconfigError(f"{self._source}: {at_user}.{absent} is missing; certificate and key go together")
        token_file = self._text(user, "tokenFile", at_user)
        return Endpoint(
            server=server.rstrip("/"),
            ca=self._bytes(cluster, "certificate-authority", at_cluster),
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            tls_server_name=self._text(cluster, "tls-server-name", at_cluster),
            client_certificate=certificate,
            client_key=key,
            token=self._text(user, "token", at_user),
            token_file=str(self._folder / token_file) if token_file else "",
            username=self._text(user, "username", at_user),
            password=self._text(user, "password", at_user),
            proxy_url=self._text(cluster, "proxy-url", at_cluster),
            namespace=self._text(chosen, "namespace", "context") or "default",
        )

    def _entries(self, section: str) -> list[dict[str, Any]]:
        entries = self._document.get(section) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise KubeconfigError(f"{self._source}: {section} must be a list of mappings")
        return entries

    def _named(self, section: str, name: str, inner: str) -> dict[str, Any]:
        for entry in self._entries(section):
            if entry.get("name") == name:
                content = entry.get(inner) or {}
                if not isinstance(content, dict):
                    raise KubeconfigError(f"{self._source}: {section}[{name}].{inner} must be a mapping")
                return content
        known = ", ".join(str(entry.get("name")) for entry in self._entries(section)) or "none"
        raise KubeconfigError(f"{self._source}: {section} has no entry named {name!r} (it has: {known})")

    def _text(self, holder: dict[str, Any], field: str, where: str, *, required: bool = False) -> str:
        value = holder.get(field)
        if value is None or value == "":
            if required:
                raise KubeconfigError(f"{self._source}: {where}.{field} is missing")
            return ""
        if not isinstance(value, str):
            raise KubeconfigError(f"{self._source}: {where}.{field} must be a string")
        return value

    def _bytes(self, holder: dict[str, Any], field: str, where: str) -> bytes | None:
        if data := self._text(holder, f"{field}-data", where):
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error as error:
                raise KubeconfigError(f"{self._source}: {where}.{field}-data is not base64") from error
        if name := self._text(holder, field, where):
            path = self._folder / name
            try:
                return path.read_bytes()
            except OSError as error:
                raise KubeconfigError(f"{self._source}: {where}.{field}: {path}: {error.strerror}") from error
        return None
