"""What webhooks need is read from Secrets and ConfigMaps, and nothing secret is told."""

import pytest

from hanse.composite.hooks.calling import HookParts, HookUnusable
from hanse.composite.hooks.endpoints import open_endpoint
from hanse.composite.spec import Endpoint
from hanse.kube.runtime import SeededRuntime
from tests.unit.composite.hooks.stored import Stored, key

URL = "https://hook.shop/sync"
BASIC = Endpoint(username=key("login", "user"), password=key("login", "word"))


async def opened(stored, endpoint):
    return await open_endpoint(URL, endpoint, HookParts(SeededRuntime(), stored))


@pytest.fixture
def stored():
    made = Stored()
    made.put_secret("login", user="me", word="opensesame", token=" t0k3n\n", odd="a:b", lines="a\nb", none=" ")
    made.put("Secret", "raw", {"token": "%%%", "binary": "/////w=="})
    made.put("ConfigMap", "trust", {"ca.crt": "nonsense"})
    return made


@pytest.mark.parametrize("endpoint", [None, Endpoint()])
async def test_without_anything_the_system_is_trusted_and_nobody_is_introduced(stored, endpoint):
    access = await opened(stored, endpoint)

    assert (access.tls, access.authorization) == (None, "")
    assert stored.read == []


@pytest.mark.parametrize(
    ("endpoint", "header"),
    [
        (Endpoint(authorization=key("login", "token")), "Bearer t0k3n"),
        (Endpoint(authorization=key("login", "token"), authorization_type="Token"), "Token t0k3n"),
        (BASIC, "Basic bWU6b3BlbnNlc2FtZQ=="),
    ],
)
async def test_the_header_is_made_of_what_the_secret_has(stored, endpoint, header):
    access = await opened(stored, endpoint)

    assert access.authorization == header
    secret = header.partition(" ")[2]
    assert secret not in repr(access)
    assert access.without_secrets(f"you said {header}!") == f"you said {header.partition(' ')[0]} [hidden]!"


async def test_a_password_that_comes_back_is_hidden_too(stored):
    access = await opened(stored, BASIC)

    assert access.without_secrets("user me, opensesame") == "user me, [hidden]"


@pytest.mark.parametrize(
    ("endpoint", "sentence"),
    [
        (
            Endpoint(authorization=key("gone", "token")),
            "Secret shop/gone does not exist, and the webhook needs it",
        ),
        (
            Endpoint(authorization=key("login", "tokn")),
            'Secret shop/login has no key "tokn", which the webhook needs',
        ),
        (Endpoint(authorization=key("raw", "token")), 'key "token" of Secret shop/raw is not base64'),
        (
            Endpoint(authorization=key("raw", "binary")),
            'key "binary" of Secret shop/raw is empty or not a text on one line, as a header wants',
        ),
        (
            Endpoint(authorization=key("login", "lines")),
            'key "lines" of Secret shop/login is empty or not a text on one line, as a header wants',
        ),
        (
            Endpoint(authorization=key("login", "none")),
            'key "none" of Secret shop/login is empty or not a text on one line, as a header wants',
        ),
        (
            Endpoint(username=key("login", "odd"), password=key("login", "word")),
            'key "odd" of Secret shop/login is a username with a ":", which basicAuth cannot say',
        ),
        (
            Endpoint(ca_config_map=key("trust", "ca.crt")),
            "the certificate authority for https://hook.shop/sync is not a PEM certificate",
        ),
        (Endpoint(ca_config_map=key("none", "ca.crt")), "ConfigMap shop/none does not exist, and the webhook needs it"),
        (
            Endpoint(ca_secret=key("login", "word")),
            "the certificate authority for https://hook.shop/sync is not a PEM certificate",
        ),
        (
            Endpoint(ca_inline="x"),
            "the certificate authority for https://hook.shop/sync is not a PEM certificate",
        ),
        (
            Endpoint(certificate=key("login", "word"), private_key=key("login", "token")),
            "the client certificate for https://hook.shop/sync and its key are not a PEM certificate and key",
        ),
    ],
)
async def test_what_is_missing_or_wrong_is_named_without_its_value(stored, endpoint, sentence):
    with pytest.raises(HookUnusable) as refused:
        await opened(stored, endpoint)

    assert str(refused.value) == sentence
