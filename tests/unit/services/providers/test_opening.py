"""Opening providers: what a Secret must hold, and the one sentence for what is missing."""

import base64
import sys

import pytest

from hanse.api.dns_zones import CloudDnsSettings, CoreDnsSettings, DnsZone, Rfc2136Settings, Route53Settings
from hanse.kube.runtime import SeededRuntime
from hanse.services.providers.interface import ProviderError
from hanse.services.providers.opening import Opening, open_provider, secret_texts

KEY = base64.b64encode(b"secret").decode()
SIGNED = Rfc2136Settings("192.0.2.1", key_name="hanse")
TLS = CoreDnsSettings(("https://etcd:2379",))


def opening(**secret):
    named = {name.replace("_", "-") if name.startswith("tsig") else name: value for name, value in secret.items()}
    return Opening(SeededRuntime(), named, "fed-1", lambda _cluster: "")


def test_a_name_server_is_opened_with_the_secret_of_its_key():
    provider = open_provider(DnsZone("main", "example.com", SIGNED), opening(tsig_secret=f"{KEY}\n"))
    assert provider.largest_batch > 0


@pytest.mark.parametrize(
    ("settings", "secret", "sentence"),
    [
        (SIGNED, {}, "the Secret must have tsig-secret, the secret of the TSIG key 'hanse'"),
        (SIGNED, {"tsig_secret": "$hush$"}, "tsig-secret of the Secret must be the key's secret in base64"),
        (
            TLS,
            {"tls.crt": "-----BEGIN CERTIFICATE-----\nhush\n-----END CERTIFICATE-----", "tls.key": "hush"},
            "ca.crt, tls.crt or tls.key of the Secret is not a certificate or key in PEM",
        ),
        (TLS, {"ca.crt": "hush"}, "ca.crt, tls.crt or tls.key of the Secret is not a certificate or key in PEM"),
    ],
)
def test_what_a_secret_lacks_is_told_and_nothing_that_it_holds(settings, secret, sentence):
    with pytest.raises(ProviderError) as told:
        open_provider(DnsZone("main", "example.com", settings), opening(**secret))
    assert str(told.value) == sentence


@pytest.mark.parametrize(
    ("package", "settings", "extra"),
    [("boto3", Route53Settings(), "route53"), ("google.auth", CloudDnsSettings("prod"), "google")],
)
def test_a_library_that_is_not_installed_is_told_with_its_extra(monkeypatch, package, settings, extra):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "hanse.services.providers.google_tokens", raising=False)
    with pytest.raises(ProviderError) as told:
        open_provider(DnsZone("main", "example.com", settings), opening())
    assert str(told.value) == f"what this provider needs is not installed: pip install 'hanse[{extra}]'"


def test_a_secret_is_text():
    assert secret_texts({"data": {"password": base64.b64encode("größe".encode()).decode()}}) == {"password": "größe"}
    with pytest.raises(ProviderError, match="the Secret holds something that is not text"):
        secret_texts({"data": {"password": base64.b64encode(b"\xff").decode()}})
