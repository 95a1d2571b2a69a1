"""Tokens of a member's service account: asking for one, knowing when the next is due, putting it into the Secret."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace

import orjson

from hanse.api.clusters import Cluster
from hanse.clusters.account import SERVICE_ACCOUNT_ANNOTATION
from hanse.clusters.credentials import KUBECONFIG_KEY, encoded, endpoints_of, secret_token
from hanse.clusters.kubeconfigs import minified
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, annotations_of, key_of
from hanse.kube.resources import SECRETS, SERVICE_ACCOUNTS

TOKEN_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Life:
    """When a token was issued and when it ends, in seconds since the epoch."""

    issued: float
    ends: float

    @property
    def seconds(self) -> int:
        """How long it lasts in all."""
        return int(self.ends - self.issued)

    def is_renewal_due(self, now: float) -> bool:
        """Tell whether half of it is over: a control plane may be away for the other half without losing the member."""
        return now >= self.issued + (self.ends - self.issued) / 2


def token_life(token: str) -> Life | None:
    """Read a token's own dates; None for one that has none, or that is not one of a service account."""
    try:
        payload = token.split(".")[1]
        claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return Life(float(claims["iat"]), float(claims["exp"]))
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        return None


def account_of(secret: Obj) -> Key | None:
    """Return the member's service account whose token a Secret holds; None where Hanse did not make it."""
    namespace, _, name = annotations_of(secret).get(SERVICE_ACCOUNT_ANNOTATION, "").partition("/")
    return Key(namespace, name) if name else None


def due_for_renewal(secret: Obj, now: float) -> Life | None:
    """Return the life of a Secret's token if it is Hanse's to renew and it is time to."""
    life = token_life(secret_token(secret)) if account_of(secret) else None
    return life if life is not None and life.is_renewal_due(now) else None


async def request_token(member: Client, account: Key, seconds: int = TOKEN_SECONDS) -> str:
    """Have the member issue a token for a service account; its server may make it a shorter one."""
    wanted = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": account.name, "namespace": account.namespace},
        "spec": {"expirationSeconds": seconds},
    }
    answer = await member.create(SERVICE_ACCOUNTS, wanted, subresource="token")
    return str(answer["status"]["token"])


async def renew_token(host: Client, member: Client, cluster: Cluster, secret: Obj, seconds: int) -> None:
    """Put a new token into a cluster's Secret; whoever follows that Secret uses it from then on."""
    account = account_of(secret)
    if account is None:
        return
    token = await request_token(member, account, seconds)
    endpoint = replace(endpoints_of(cluster, secret)[0], token=token)
    data = {KUBECONFIG_KEY: encoded(minified(cluster.name, endpoint))}
    key = key_of(secret)
    await host.patch(SECRETS, key.name, {"data": data}, key.namespace)
