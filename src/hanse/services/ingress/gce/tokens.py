"""Who one is for Google's Compute API, and where that API is."""

from __future__ import annotations

import os

from hanse.kube.runtime import Runtime
from hanse.services.ingress.gce.compute import ComputeError, Token
from hanse.services.ingress.gce.pieces import API
from hanse.services.providers.interface import ProviderError

# The API's address and a token of one's own choice, as the Google Cloud SDK's tools take them.
API_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"
TOKEN_VARIABLE = "CLOUDSDK_AUTH_ACCESS_TOKEN"
_SCOPES = ("https://www.googleapis.com/auth/compute",)


def google_api() -> str:
    """Return where the Compute API is: Google's, unless the environment says otherwise."""
    return (os.environ.get(API_VARIABLE) or API).rstrip("/")


def token_source(runtime: Runtime) -> Token:
    """Return what gives tokens: the environment where it has one, else Google's application default credentials.

    Raises ComputeError where there are none.
    """
    if given := os.environ.get(TOKEN_VARIABLE, ""):

        async def token() -> str:
            return given

        return token
    try:
        from hanse.services.providers.google_tokens import GoogleTokens
    except ImportError as error:
        raise ComputeError("the package google-auth is not installed: pip install 'hanse[clouddns]'") from error
    try:
        return GoogleTokens(runtime, scopes=_SCOPES).token
    except ProviderError as error:
        raise ComputeError(f"error in creating cloud interface: {error}") from error
