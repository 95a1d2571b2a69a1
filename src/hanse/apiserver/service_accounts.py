"""Service accounts' tokens: what they claim, and whether what they claim still holds.

A token names its account by uid, and perhaps the pod, node or secret that it is bound to; it dies with any of them.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from typing import Any

from hanse.apiserver.core import Core
from hanse.apiserver.identity import Identity, service_account_groups, service_account_user
from hanse.apiserver.tokens import ISSUER, LEGACY_ISSUER
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import parse_timestamp

AUDIENCES = (ISSUER,)
# Clocks differ: a token is good for this much longer than it says, as upstream allows.
_LEEWAY_SECONDS = 60.0
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_LEGACY = "kubernetes.io/serviceaccount/"
_INVALIDATED = "service account token has been invalidated"


class TokenRefused(Exception):
    """A signed token that is not, or no longer, good."""


def claims_for(
    account: Obj, bound: Mapping[str, Obj], *, audiences: Sequence[str], now: float, seconds: int, token_id: str
) -> Obj:
    """Return the claims of a new token for a service account, bound to objects by kind (`pod`, `node`, `secret`)."""
    metadata = account["metadata"]
    private: Obj = {"namespace": metadata["namespace"], "serviceaccount": _reference(account)}
    private |= {kind: _reference(obj) for kind, obj in bound.items()}
    return {
        "iss": ISSUER,
        "sub": service_account_user(metadata["namespace"], metadata["name"]),
        "aud": list(audiences),
        "iat": int(now),
        "nbf": int(now),
        "exp": int(now) + seconds,
        "jti": token_id,
        "kubernetes.io": private,
    }


def secret_claims(account: Obj, secret: str) -> Obj:
    """Return the claims of the token in a Secret of type kubernetes.io/service-account-token, which has no end."""
    metadata = account["metadata"]
    return {
        "iss": LEGACY_ISSUER,
        "sub": service_account_user(metadata["namespace"], metadata["name"]),
        f"{_LEGACY}namespace": metadata["namespace"],
        f"{_LEGACY}secret.name": secret,
        f"{_LEGACY}service-account.name": metadata["name"],
        f"{_LEGACY}service-account.uid": metadata["uid"],
    }


def identity_of_token(core: Core, token: str, audiences: Sequence[str] = AUDIENCES) -> Identity | None:
    """Return whose token this is; None where the server did not sign it. Raises TokenRefused for a dead one."""
    claims = core.signer.claims_of(token)
    if claims is None:
        return None
    if claims.get("iss") == LEGACY_ISSUER:
        return _from_secret(core, token, claims)
    if claims.get("iss") != ISSUER:
        return None
    held = claims.get("aud") or []
    if not set(held) & set(audiences):
        raise TokenRefused(f"token audiences {_quoted(held)} is invalid for the target audiences {_quoted(audiences)}")
    _check_time(claims, core.runtime.now())
    return _from_claims(core, claims)


def common_audiences(core: Core, token: str, audiences: Sequence[str]) -> list[str]:
    """Return which of the wanted audiences a believed token is meant for."""
    claims = core.signer.claims_of(token)
    held = claims.get("aud", AUDIENCES) if claims else AUDIENCES
    return [one for one in audiences if one in held]


def _check_time(claims: Obj, now: float) -> None:
    if now > float(claims.get("exp", 0)) + _LEEWAY_SECONDS:
        raise TokenRefused("service account token has expired")
    if now < float(claims.get("nbf", 0)) - _LEEWAY_SECONDS:
        raise TokenRefused("service account token is not valid yet")


def _from_claims(core: Core, claims: Obj) -> Identity:
    private: Obj = claims.get("kubernetes.io") or {}
    namespace, account = str(private.get("namespace")), private.get("serviceaccount") or {}
    live = _read(core, "serviceaccounts", namespace, account.get("name", ""))
    if live is None:
        raise TokenRefused(f'serviceaccounts "{account.get("name", "")}" not found')
    _check_same("service account", live, account, "claim")
    if _is_leaving(core, live):
        raise TokenRefused(f"service account {namespace}/{account.get('name', '')} has been deleted")
    extra = {_CREDENTIAL: (f"JTI={claims.get('jti', '')}",)}
    for kind in ("secret", "pod", "node"):
        reference = private.get(kind)
        if reference is None:
            continue
        # The node of a pod-bound token tells where the pod ran; the token lives with the pod.
        if not (kind == "node" and "pod" in private):
            _check_bound(core, kind, namespace, reference)
        if kind != "secret":
            extra[f"authentication.kubernetes.io/{kind}-name"] = (str(reference.get("name", "")),)
            if reference.get("uid"):
                extra[f"authentication.kubernetes.io/{kind}-uid"] = (str(reference["uid"]),)
    return _identity(live, extra)


def _from_secret(core: Core, token: str, claims: Obj) -> Identity:
    namespace, name = str(claims.get(f"{_LEGACY}namespace")), str(claims.get(f"{_LEGACY}service-account.name"))
    secret = _read(core, "secrets", namespace, str(claims.get(f"{_LEGACY}secret.name")))
    if secret is None or secret["metadata"].get("deletionTimestamp"):
        raise TokenRefused("Token has been invalidated")
    kept = base64.b64decode(dig(secret, "data", "token", default=""))
    if not hmac.compare_digest(kept, token.encode()):
        raise TokenRefused("Token does not match server's copy")
    account = _read(core, "serviceaccounts", namespace, name)
    if account is None:
        raise TokenRefused(f'serviceaccounts "{name}" not found')
    _check_same("ServiceAccount", account, {"uid": claims.get(f"{_LEGACY}service-account.uid")}, "claim")
    return _identity(account, {})


def _check_bound(core: Core, kind: str, namespace: str, reference: Obj) -> None:
    live = _read(core, f"{kind}s", "" if kind == "node" else namespace, str(reference.get("name", "")))
    if live is None or _is_leaving(core, live):
        raise TokenRefused(_INVALIDATED)
    _check_same(kind, live, reference, f"service account {kind} ref claim")


def _check_same(what: str, live: Obj, claimed: Obj, where: str) -> None:
    uid = live["metadata"]["uid"]
    if uid != claimed.get("uid"):
        raise TokenRefused(f"{what} UID ({uid}) does not match {where} ({claimed.get('uid')})")


def _is_leaving(core: Core, live: Obj) -> bool:
    since = live["metadata"].get("deletionTimestamp")
    return bool(since) and parse_timestamp(str(since)) < core.runtime.now() - _LEEWAY_SECONDS


def _identity(account: Obj, extra: Mapping[str, tuple[str, ...]]) -> Identity:
    metadata = account["metadata"]
    namespace = metadata["namespace"]
    user = service_account_user(namespace, metadata["name"])
    return Identity(user, service_account_groups(namespace), metadata["uid"], extra)


def _read(core: Core, plural: str, namespace: str, name: str) -> Obj | None:
    served = core.registry.find("", "v1", plural)
    return core.read(served, namespace, name) if served else None


def _reference(obj: Obj) -> Obj:
    reference = {"name": obj["metadata"]["name"], "uid": obj["metadata"].get("uid", "")}
    return {name: value for name, value in reference.items() if value}


def _quoted(values: Sequence[Any]) -> str:
    return "[" + " ".join(f'"{one}"' for one in values) + "]"
