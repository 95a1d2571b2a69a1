"""The connection's promises on a real kube-apiserver: every way to be known there, and what it says of strangers."""

import asyncio
import base64
import contextlib
import json
import stat
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hanse.kube import Client, Endpoint, Forbidden, Kubeconfig, SystemRuntime, Unauthorized, Unreachable
from hanse.kube.auth.service_account import in_cluster_endpoint
from hanse.kube.http import HttpTransport
from hanse.kube.resources import CONFIGMAPS
from tests.kubernetes.real import RealCluster

EXEC_CREDENTIAL = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1"}


@contextlib.asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[Client]:
    client = Client(HttpTransport(endpoint), SystemRuntime(), timeout=20.0)
    try:
        yield client
    finally:
        await client.close()


async def whoami(endpoint: Endpoint) -> dict[str, Any]:
    """Ask the server whom it takes us for."""
    async with connected(endpoint) as client:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
        answer = await client.create(await client.resource_of(review), review)
    user: dict[str, Any] = answer["status"]["userInfo"]
    return user


@pytest.fixture(scope="module")
def service_account(member: RealCluster) -> Iterator[str]:
    """A service account that may read ConfigMaps; yields its name as a user."""
    member.kubectl("create", "serviceaccount", "reader")
    member.kubectl("create", "rolebinding", "reader", "--clusterrole=view", "--serviceaccount=default:reader")
    yield "system:serviceaccount:default:reader"
    member.kubectl("delete", "rolebinding,serviceaccount", "reader", "--ignore-not-found")


def new_token(member: RealCluster) -> str:
    return member.kubectl("create", "token", "reader", "--duration=10m").strip()


async def ask_until_refused(client: Client) -> None:
    """Ask again and again: the server remembers for some seconds whom it has seen."""
    async with asyncio.timeout(60):
        while True:
            await client.list(CONFIGMAPS, "default")


def rewritten(member: RealCluster, folder: Path, user: dict[str, Any]) -> Kubeconfig:
    """Return the administrator's kubeconfig with another user in it, as a file in a folder."""
    document = yaml.safe_load(member.kubeconfig.read_text())
    document["users"] = [{"name": entry["name"], "user": user} for entry in document["users"]]
    (folder / "config").write_text(yaml.safe_dump(document))
    return Kubeconfig.load(folder / "config")


@pytest.mark.parametrize("context", ["member", "member-token"])
async def test_certificate_and_token_are_known(member: RealCluster, context: str) -> None:
    assert (await whoami(Kubeconfig.load(member.kubeconfig).endpoint(context)))["username"] == "admin"


async def test_another_user_is_acted_for(member: RealCluster, tmp_path: Path) -> None:
    user = {
        "token": member.token,
        "as": "bob",
        "as-uid": "7",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"acme.com/team": ["a", "b"]},
    }

    seen = await whoami(rewritten(member, tmp_path, user).endpoint())

    assert (seen["username"], seen["uid"], seen["extra"]) == ("bob", "7", {"acme.com/team": ["a", "b"]})
    assert seen["groups"] == ["dev", "ops", "system:authenticated"]


async def test_a_pods_service_account_outlives_the_loss_of_its_token(
    member: RealCluster, service_account: str, tmp_path: Path
) -> None:
    folder = tmp_path / "var/run/secrets/kubernetes.io/serviceaccount"
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes((member.folder / "ca.crt").read_bytes())
    (folder / "token").write_text(await asyncio.to_thread(new_token, member))
    host, _, port = member.server.removeprefix("https://").partition(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    endpoint = in_cluster_endpoint(environ, root=tmp_path)
    assert (await whoami(endpoint))["username"] == service_account

    async with connected(endpoint) as client:
        before = await client.list(CONFIGMAPS, "default")
        # A new account of the same name makes every token of the old one invalid.
        await asyncio.to_thread(member.kubectl, "delete", "serviceaccount", "reader")
        await asyncio.to_thread(member.kubectl, "create", "serviceaccount", "reader")
        with pytest.raises(Unauthorized) as refusal:
            await ask_until_refused(client)
        (folder / "token").write_text(await asyncio.to_thread(new_token, member))
        after = await client.list(CONFIGMAPS, "default")

    assert str(refusal.value) == (
        f"{member.server} does not accept the token in {folder / 'token'}; "
        "see why nobody renews that file (Unauthorized)"
    )
    assert [obj["metadata"]["name"] for obj in before.items] == [obj["metadata"]["name"] for obj in after.items]


@pytest.mark.parametrize("proof", ["token", "certificate"])
async def test_a_plugins_credentials_are_known(member: RealCluster, tmp_path: Path, proof: str) -> None:
    admin = Kubeconfig.load(member.kubeconfig).endpoint("member")
    assert admin.client_certificate is not None
    assert admin.client_key is not None
    pair = {"clientCertificateData": admin.client_certificate.decode(), "clientKeyData": admin.client_key.decode()}
    status = {"token": member.token} if proof == "token" else pair
    (tmp_path / "answer").write_text(json.dumps({**EXEC_CREDENTIAL, "status": status}))
    plugin = tmp_path / "plugin"
    plugin.write_text('#!/bin/sh\ncat "$(dirname "$0")/answer"\n')
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    user = {"exec": {"apiVersion": EXEC_CREDENTIAL["apiVersion"], "command": "./plugin", "interactiveMode": "Never"}}

    assert (await whoami(rewritten(member, tmp_path, user).endpoint()))["username"] == "admin"


async def test_an_expired_client_certificate_is_named_with_its_end(member: RealCluster, tmp_path: Path) -> None:
    certificate, key = expired_administrator(member)
    user = {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
    config = rewritten(member, tmp_path, user)

    with pytest.raises(Unauthorized) as refusal:
        await whoami(config.endpoint())

    shown = f"the client certificate in kubeconfig {tmp_path / 'config'}: users[member].client-certificate"
    assert str(refusal.value).startswith(f"{member.server} does not accept {shown}, which expired on 20")
    assert str(refusal.value).endswith("; renew it (Unauthorized)")


async def test_a_stranger_is_told_what_is_missing(member: RealCluster) -> None:
    known = Kubeconfig.load(member.kubeconfig).endpoint("member-token")
    nobody = replace(known, token="")
    forged = replace(known, token="forged")
    said = {}
    for name, endpoint in (("nobody", nobody), ("forged", forged)):
        async with connected(endpoint) as client:
            with pytest.raises((Forbidden, Unauthorized)) as refusal:
                await client.list(CONFIGMAPS, "default")
            said[name] = str(refusal.value)

    where = f"kubeconfig {member.kubeconfig}: users[member-token].token"
    assert said == {
        "nobody": 'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" '
        f'in API group "" in the namespace "default"; {member.server} does not accept a request without credentials; '
        f"put one into {where}",
        "forged": f"{member.server} does not accept the token in {where}; "
        "put one there that is valid for this cluster (Unauthorized)",
    }


async def test_a_wrong_name_a_wrong_authority_and_a_wrong_scheme_are_told_apart(member: RealCluster) -> None:
    known = Kubeconfig.load(member.kubeconfig).endpoint()
    plain = member.server.replace("https:", "http:")
    stranger = Kubeconfig.load(member.kubeconfig).endpoint().client_certificate
    said = {}
    for name, endpoint in {
        "name": replace(known, tls_server_name="elsewhere"),
        "authority": replace(known, ca=stranger),
        "scheme": replace(known, server=plain),
    }.items():
        with pytest.raises(Unreachable) as fault:
            await whoami(endpoint)
        said[name] = fault.value.why

    cluster = f"kubeconfig {member.kubeconfig}: clusters[member]"
    assert said == {
        "name": f"its certificate is not for elsewhere; write a name that it is for into {cluster}.tls-server-name",
        "authority": f"its certificate is not signed by the authority in {cluster}.certificate-authority-data; "
        "put the cluster's own authority there",
        "scheme": f"it speaks TLS only; write https:// in {cluster}.server",
    }
    assert (await whoami(replace(known, tls_server_name="kubernetes.default.svc")))["username"] == "admin"


def expired_administrator(member: RealCluster) -> tuple[bytes, bytes]:
    """Sign a certificate with the cluster's own key that ended yesterday."""
    authority = x509.load_pem_x509_certificate((member.folder / "ca.crt").read_bytes())
    signer = serialization.load_pem_private_key((member.folder / "ca.key").read_bytes(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    ended = authority.not_valid_before_utc - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "admin")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ended - timedelta(days=1))
        .not_valid_after(ended)
        .sign(signer, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private
