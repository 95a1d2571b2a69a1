"""With what an agent signs in at the host: a kubeconfig in a file, or in a Secret of its own cluster.

Its token is renewed after half of its life, by the account's own right to a new one, and put back where it came from,
so that the next agent finds it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.agent_access import agent_token
from hanse.clusters.credentials import KUBECONFIG_KEY, decoded, encoded
from hanse.clusters.kubeconfigs import minified
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.tokens import token_life
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.log import Log
from hanse.kube.manifest import Key
from hanse.kube.resources import SECRETS
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Unreachable

log = Log("hanse")

# In the member: the kubeconfig with which its agent reaches the host.
AGENT_SECRET = Key(SYSTEM_NAMESPACE, "hanse-agent")
# Tokens last for days; a look costs nothing.
_TOKEN_SECONDS = 60.0


class HostCredentials(Protocol):
    """A place where a kubeconfig of the host is kept."""

    async def read(self) -> Kubeconfig:
        """Return what is kept; raises KubeconfigError, ApiError, Unreachable."""

    async def write(self, text: str) -> None:
        """Keep another kubeconfig from now on; raises OSError, ApiError, Unreachable."""


@dataclass(frozen=True, slots=True)
class CredentialsInFile:
    """A kubeconfig in a file."""

    path: Path
    runtime: Runtime

    async def read(self) -> Kubeconfig:
        return await self.runtime.in_thread(lambda: Kubeconfig.load(self.path))

    async def write(self, text: str) -> None:
        await self.runtime.in_thread(lambda: write_privately(self.path, text))


@dataclass(frozen=True, slots=True)
class CredentialsInSecret:
    """A kubeconfig in a Secret of the member."""

    member: Client
    key: Key = AGENT_SECRET

    async def read(self) -> Kubeconfig:
        secret = await self.member.get(SECRETS, self.key.name, self.key.namespace)
        where = f"secret {self.key} of {self.member.address}"
        content = (secret.get("data") or {}).get(KUBECONFIG_KEY)
        if not content:
            raise KubeconfigError(
                f"{where} has no kubeconfig; `hanse join NAME --pull --agent-manifest FILE` writes it"
            )
        return Kubeconfig.parse(decoded(content, where, KUBECONFIG_KEY), source=where)

    async def write(self, text: str) -> None:
        await self.member.patch(SECRETS, self.key.name, {"data": {KUBECONFIG_KEY: encoded(text)}}, self.key.namespace)


def write_privately(path: Path, text: str) -> None:
    """Write a file that nobody else can read, at once and as a whole."""
    partial = path.with_name(f".{path.name}.partial")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
    partial.replace(path)


async def keep_token(
    host: Client, transport: MemberTransport, name: str, endpoint: Endpoint, kept: HostCredentials
) -> None:
    """Renew an agent's token for ever, long before it ends; `host` speaks over that transport."""
    runtime = host.runtime
    while True:
        await runtime.sleep(_TOKEN_SECONDS * runtime.uniform(0.5, 1.0))
        await transport.close_retired()
        life = token_life(endpoint.token)
        if life is None or not life.is_renewal_due(runtime.now()):
            continue
        try:
            endpoint = replace(endpoint, token=await agent_token(host, name, life.seconds))
        except (ApiError, Unreachable) as error:
            log.warning("Could not renew the token for the host", member=name, error=str(error))
            continue
        transport.renew([endpoint])
        try:
            await kept.write(minified(name, endpoint))
        except (OSError, ApiError, Unreachable) as error:
            log.warning("A new token for the host is used, and could not be kept", member=name, error=str(error))
