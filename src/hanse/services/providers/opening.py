"""Opens the provider that a DNSZone names, with the credentials of its Secret.

Each provider's library is loaded by the first zone that needs it: most federations need one of them or none.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hanse.api.dns_zones import CloudDnsSettings, CoreDnsSettings, DnsZone, Rfc2136Settings, Route53Settings
from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime
from hanse.services.providers.interface import Provider, ProviderError

# Which settings need which extra of this package.
_EXTRAS = {Route53Settings: "route53", CloudDnsSettings: "google"}


@dataclass(frozen=True, slots=True)
class Opening:
    """What a provider needs beside its DNSZone: credentials, whose names it publishes, and where clusters are."""

    runtime: Runtime
    secret: Mapping[str, str]
    owner: str
    region_of: Callable[[str], str]


Open = Callable[[DnsZone, Opening], Provider]


def open_provider(zone: DnsZone, opening: Opening) -> Provider:
    """Return the provider of a zone; raises ProviderError where it cannot be opened."""
    try:
        return _open(zone, opening)
    except ImportError as error:
        extra = _EXTRAS.get(type(zone.settings))
        if extra is None:
            raise
        raise ProviderError(f"what this provider needs is not installed: pip install 'hanse[{extra}]'") from error


def _open(zone: DnsZone, opening: Opening) -> Provider:
    match zone.settings:
        case Rfc2136Settings() as settings:
            from hanse.services.providers.rfc2136 import DynamicUpdates

            return DynamicUpdates(zone.zone, settings, opening.secret.get("tsig-secret", ""))
        case CoreDnsSettings() as settings:
            return _coredns(zone, settings, opening.secret)
        case Route53Settings() as settings:
            return _route53(zone, settings, opening)
        case CloudDnsSettings() as settings:
            from hanse.services.providers.clouddns import CloudDns
            from hanse.services.providers.google_tokens import GoogleTokens

            tokens = GoogleTokens(opening.runtime, opening.secret.get("service-account.json", ""))
            return CloudDns(zone.zone, settings, tokens.token, region_of=opening.region_of)


def _coredns(zone: DnsZone, settings: CoreDnsSettings, secret: Mapping[str, str]) -> Provider:
    from hanse.services.providers.coredns import CoreDns
    from hanse.services.providers.etcd_gateway import EtcdAccess

    tls = _tls(secret) if any(each.startswith("https:") for each in settings.endpoints) else None
    access = EtcdAccess(secret.get("username", ""), secret.get("password", ""), tls)
    return CoreDns(zone.zone, settings, access)


def _tls(secret: Mapping[str, str]) -> ssl.SSLContext:
    import tempfile

    try:
        context = ssl.create_default_context(cadata=secret.get("ca.crt") or None)
        if "tls.crt" in secret:
            # The library reads a client's key from a file only; it is gone before anything is sent.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as pair:
                pair.write(f"{secret['tls.crt']}\n{secret.get('tls.key', '')}\n")
                pair.flush()
                context.load_cert_chain(pair.name)
    except (ssl.SSLError, ValueError) as error:
        raise ProviderError("ca.crt, tls.crt or tls.key of the Secret is not a certificate or key in PEM") from error
    return context


def _route53(zone: DnsZone, settings: Route53Settings, opening: Opening) -> Provider:
    import boto3

    from hanse.services.providers.route53 import Route53

    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    access, secret, session = (opening.secret.get(name) for name in names)
    client = boto3.client(
        "route53",
        # Route 53 is one for all regions; a region must be named nevertheless.
        region_name="us-east-1",
        endpoint_url=settings.endpoint or None,
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        aws_session_token=session,
    )
    return Route53(zone.zone, settings, client, opening.runtime, owner=opening.owner, region_of=opening.region_of)


def secret_texts(secret: Obj) -> dict[str, str]:
    """Return what a Secret holds, as text; raises ProviderError for what is no text."""
    try:
        return {name: base64.b64decode(data).decode() for name, data in (secret.get("data") or {}).items()}
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ProviderError("the Secret holds something that is not text") from error
