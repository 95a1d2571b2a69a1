"""Who may what, and the same over HTTPS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest

from hanse.apiserver import ApiServer, CertificateAuthority, Identity
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime
from tests.component.apiserver.conftest import ADMIN, Api, config

CONFIGS = "/api/v1/namespaces/default/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
BOB = Identity("bob", ("devs",))


async def grant(api: Api, rule: Obj, subject: Obj) -> None:
    await api.create(ROLES, {"metadata": {"name": "r"}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    assert (await api.create(BINDINGS, {"metadata": {"name": "b"}, "roleRef": role, "subjects": [subject]})).code == 201


async def test_without_a_binding_nothing_is_allowed(server: ApiServer) -> None:
    refused = await Api(server.connect(BOB)).get(CONFIGS)
    assert refused.code == 403
    assert refused.body["message"] == (
        'configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" '
        'in the namespace "default"'
    )


SUBJECTS = [
    ({"kind": "User", "name": "bob"}, True),
    ({"kind": "User", "name": "eve"}, False),
    ({"kind": "Group", "name": "devs"}, True),
    ({"kind": "Group", "name": "system:authenticated"}, True),
    ({"kind": "Group", "name": "ops"}, False),
]


@pytest.mark.parametrize(("subject", "allowed"), SUBJECTS)
async def test_a_binding_reaches_its_subjects_only(server: ApiServer, api: Api, subject: Obj, allowed: bool) -> None:
    await grant(api, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}, subject)
    answered = await Api(server.connect(BOB)).get(CONFIGS)
    assert (answered.code == 200) is allowed


RULES = [
    ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}, "get", True),
    ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["a"]}, "get", True),
    ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["b"]}, "get", False),
    ({"apiGroups": ["apps"], "resources": ["configmaps"], "verbs": ["get"]}, "get", False),
    ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, "delete", True),
    ({"apiGroups": [""], "resources": ["configmaps/status"], "verbs": ["get"]}, "get", False),
]


@pytest.mark.parametrize(("rule", "verb", "allowed"), RULES)
async def test_rules_allow_exactly_what_they_say(
    server: ApiServer, api: Api, rule: Obj, verb: str, allowed: bool
) -> None:
    await api.create(CONFIGS, config("a"))
    await grant(api, rule, {"kind": "User", "name": "bob"})
    asked = {"verb": verb, "resource": "configmaps", "namespace": "default", "name": "a"}
    review = {"spec": {"resourceAttributes": asked}}
    bob = Api(server.connect(BOB))
    told = await bob.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    done = await bob.call(verb.upper(), f"{CONFIGS}/a")
    assert told.body["status"]["allowed"] is allowed
    assert (done.code == 200) is allowed


async def test_a_requested_token_names_its_service_account(server: ApiServer, api: Api) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    await api.create(path, {"metadata": {"name": "robot"}})
    issued = await api.create(f"{path}/robot/token", {"spec": {"expirationSeconds": 600}})
    review = {"spec": {"token": issued.body["status"]["token"]}}
    told = await api.create("/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert told.body["status"]["user"]["username"] == "system:serviceaccount:default:robot"


class Https:
    """A served API server and the ways into it."""

    def __init__(self, server: ApiServer, authority: CertificateAuthority) -> None:
        self.server = server
        self.authority = authority

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.certificate_pem.decode())

    async def status(self, path: str, context: ssl.SSLContext | None = None, token: str = "") -> int:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        trusted = context or self.trust()
        async with aiohttp.ClientSession(headers=headers) as session:
            answer = await session.get(self.server.url + path, ssl=trusted)
            await answer.read()
            return answer.status


@pytest.fixture
async def https(server: ApiServer, tmp_path: Path) -> Https:
    authority = CertificateAuthority.open(tmp_path, runtime=SystemRuntime())
    await server.serve(credentials=authority.serving(runtime=SystemRuntime()))
    return Https(server, authority)


async def test_strangers_see_health_and_version_only(https: Https) -> None:
    codes = [await https.status(path) for path in ("/healthz", "/readyz", "/version", "/api", CONFIGS)]
    assert codes == [200, 200, 200, 401, 401]


async def test_tokens_and_client_certificates_are_believed(https: Https, tmp_path: Path) -> None:
    assert await https.status(CONFIGS, token=https.server.token_for(ADMIN)) == 200
    assert await https.status(CONFIGS, token=https.server.token_for(BOB)) == 403
    assert await https.status(CONFIGS, token="forged") == 401
    certificate, key = https.authority.client(ADMIN, runtime=SystemRuntime())
    (tmp_path / "c.crt").write_bytes(certificate)
    (tmp_path / "c.key").write_bytes(key)
    context = https.trust()
    context.load_cert_chain(tmp_path / "c.crt", tmp_path / "c.key")
    assert await https.status(CONFIGS, context) == 200


async def test_keys_are_private_and_kept(https: Https, tmp_path: Path) -> None:
    again = CertificateAuthority.open(tmp_path, runtime=SystemRuntime())
    assert again.certificate_pem == https.authority.certificate_pem
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("ca.key", "server.key")} == {0o600}


async def test_a_stopped_server_drops_connections_and_heals_on_the_same_port(https: Https) -> None:
    url = https.server.url
    token = https.server.token_for(ADMIN)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        stream = await session.get(f"{url}{CONFIGS}?watch=true", ssl=https.trust())
        await https.server.stop_serving()
        with pytest.raises(aiohttp.ClientError):
            async with asyncio.timeout(5):
                await stream.content.read()
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"{url}/healthz", ssl=https.trust())
        await https.server.serve(credentials=https.authority.serving(runtime=SystemRuntime()))
        assert https.server.url == url
        assert await https.status(CONFIGS, token=token) == 200


async def test_a_large_list_is_compressed_when_asked(https: Https, api: Api) -> None:
    for count in range(10):
        await api.create(CONFIGS, config(f"c{count}", data={"a": "x" * 20_000}))
    headers = {"Authorization": f"Bearer {https.server.token_for(ADMIN)}", "Accept-Encoding": "gzip"}
    async with aiohttp.ClientSession(headers=headers) as session:
        answer = await session.get(https.server.url + CONFIGS, ssl=https.trust())
        assert answer.headers["Content-Encoding"] == "gzip"
        assert len((await answer.json())["items"]) >= 10


async def test_a_watch_ends_with_its_connection(https: Https) -> None:
    headers = {"Authorization": f"Bearer {https.server.token_for(ADMIN)}"}
    before = https.server.streams
    async with aiohttp.ClientSession(headers=headers) as session:
        await session.get(f"{https.server.url}{CONFIGS}?watch=true&resourceVersion=1", ssl=https.trust())
        assert https.server.streams == before + 1
    async with asyncio.timeout(5):
        while https.server.streams > before:
            await https.status("/healthz")


async def test_pod_logs_come_from_whoever_has_them(server: ApiServer, api: Api) -> None:
    async def logs(namespace: str, name: str, query: Mapping[str, str]) -> bytes:
        return f"{namespace}/{name} {query.get('container', '')}\n".encode()

    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "x"}]}
    await api.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec})
    path = "/api/v1/namespaces/default/pods/p/log"
    assert (await api.get(path)).code == 500
    server.pod_logs = logs
    assert (await api.get(f"{path}?container=c")).body == "default/p c\n"
    assert (await api.get(path.replace("/p/", "/q/"))).code == 404
