"""Access tokens of a service account, from google-auth itself and a token server on loopback."""

import json

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from hanse.kube.runtime import SystemRuntime
from hanse.services.providers.google_tokens import GoogleTokens
from hanse.services.providers.interface import ProviderError


def service_account(token_uri):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    told = {"type": "service_account", "client_email": "dns@prod.example", "private_key": pem.decode()}
    return json.dumps({**told, "private_key_id": "1", "project_id": "prod", "token_uri": token_uri})


async def test_a_token_is_fetched_once_and_used_until_it_ends():
    asked = []

    async def give(request):
        asked.append((await request.post())["grant_type"])
        return web.json_response({"access_token": "ya29.x", "expires_in": 3600, "token_type": "Bearer"})

    application = web.Application()
    application.router.add_post("/token", give)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        tokens = GoogleTokens(SystemRuntime(), service_account(f"http://127.0.0.1:{runner.addresses[0][1]}/token"))
        assert [await tokens.token(), await tokens.token()] == ["ya29.x", "ya29.x"]
    finally:
        await runner.cleanup()
    assert asked == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]


async def test_a_token_server_that_is_away_is_told():
    tokens = GoogleTokens(SystemRuntime(), service_account("http://127.0.0.1:1/token"))
    with pytest.raises(ProviderError, match="Google gives no access token: "):
        await tokens.token()


def test_a_key_that_is_none_is_told_without_being_quoted():
    with pytest.raises(ProviderError) as told:
        GoogleTokens(SystemRuntime(), '{"private_key": "hush"}')
    assert str(told.value) == "service-account.json of the Secret cannot be used to sign in at Google"
