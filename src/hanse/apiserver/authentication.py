"""Who sent a request: a bearer token or a client certificate says it, and impersonation may say another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hanse.apiserver import status
from hanse.apiserver.core import Core
from hanse.apiserver.credentials import identity_of_certificate
from hanse.apiserver.identity import ANONYMOUS, Identity
from hanse.apiserver.service_accounts import TokenRefused, identity_of_token


def authenticate(core: Core, authorization: str, peer: Mapping[str, Any] | None) -> Identity:
    """Return who is behind a connection and its Authorization header; raises Unauthorized for a bad token."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return _of_bearer(core, token.strip())
    named = identity_of_certificate(peer["subject"]) if peer else None
    return named or ANONYMOUS


def _of_bearer(core: Core, token: str) -> Identity:
    known = core.tokens.get(token)
    if known is not None:
        return known
    try:
        identity = identity_of_token(core, token)
    except TokenRefused:
        identity = None
    if identity is None:
        raise status.unauthorized()
    return identity
