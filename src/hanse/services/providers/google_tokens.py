"""Access tokens for Google's APIs: of the service account in a Secret, else of whatever runs this process."""

from __future__ import annotations

import json
from typing import Any

import google.auth
import google.auth.credentials
import google.auth.exceptions
import google.auth.transport.requests
import google.oauth2.service_account

from hanse.kube.runtime import Runtime
from hanse.services.providers.interface import ProviderError

_SCOPES = ("https://www.googleapis.com/auth/ndev.clouddns.readwrite",)


class GoogleTokens:
    """Gives a token that holds for now; a new one is fetched, on a thread, shortly before the old one ends."""

    def __init__(self, runtime: Runtime, service_account: str = "", scopes: tuple[str, ...] = _SCOPES) -> None:
        """`service_account` is the JSON of a service account's key, "" for the ambient credentials."""
        self._runtime = runtime
        self._credentials = _credentials(service_account, scopes)

    async def token(self) -> str:
        """Return a token."""
        if not self._credentials.valid:
            try:
                await self._runtime.in_thread(self._refresh)
            except google.auth.exceptions.GoogleAuthError as error:
                raise ProviderError(f"Google gives no access token: {error}") from error
        return str(self._credentials.token)

    def _refresh(self) -> None:
        self._credentials.refresh(google.auth.transport.requests.Request())  # type: ignore[no-untyped-call]


def _credentials(service_account: str, scopes: tuple[str, ...]) -> google.auth.credentials.Credentials:
    # The library has no types for what it makes.
    accounts: Any = google.oauth2.service_account.Credentials
    found: google.auth.credentials.Credentials
    try:
        if not service_account:
            found, _ = google.auth.default(scopes=scopes)
        else:
            found = accounts.from_service_account_info(json.loads(service_account), scopes=scopes)
    except (ValueError, google.auth.exceptions.GoogleAuthError) as error:
        # Texts of such errors may quote the key.
        what = "service-account.json of the Secret" if service_account else "the ambient credentials of this process"
        raise ProviderError(f"{what} cannot be used to sign in at Google") from error
    return found
