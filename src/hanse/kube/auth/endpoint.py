"""An API server and whom to be there, as plain values; secrets stay out of every repr."""

from __future__ import annotations

from dataclasses import dataclass, field


class KubeconfigError(ValueError):
    """A kubeconfig that cannot be used, said in one sentence."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an endpoint was written down, so that a later sentence can point there."""

    cluster: str = "cluster"
    user: str = "user"

    def cluster_field(self, name: str) -> str:
        """Name a field of the cluster's entry."""
        return f"{self.cluster}.{name}"

    def user_field(self, name: str) -> str:
        """Name a field of the user's entry."""
        return f"{self.user}.{name}"


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command that prints credentials, as client.authentication.k8s.io describes it."""

    command: str
    api_version: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str = ""
    cluster_info: str = field(default="", repr=False)
    """The JSON of `spec.cluster` that the plugin is told; "" where it is told nothing."""


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom the server shall take us for, once it knows who we are."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


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
    exec_plugin: ExecPlugin | None = None
    impersonation: Impersonation | None = None
    origin: Origin = field(default=Origin(), compare=False)

    def __repr__(self) -> str:
        return f"Endpoint(server={self.server!r})"
