"""Service accounts' tokens: issued for a time and an audience, believed while what they name lives."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hanse.apiserver import ApiServer, CertificateAuthority, MemoryStorage, SqliteStorage
from hanse.apiserver.authentication import authenticate
from hanse.apiserver.identity import Identity
from hanse.apiserver.tokens import ISSUER, TokenSigner
from hanse.kube.errors import Unauthorized
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime
from tests.component.apiserver.conftest import ADMIN, Api, pod

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/default/secrets"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ROBOT = "system:serviceaccount:default:robot"


class Clock(SystemRuntime):
    """The machine's clock, moved ahead by hand."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server(clock: Clock) -> AsyncIterator[ApiServer]:
    opened = await ApiServer.open(name="test", storage=MemoryStorage(), runtime=clock, root_certificate=b"root")
    yield opened
    await opened.close()


async def token(api: Api, **spec: object) -> str:
    issued = await api.create(f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert issued.code == 201, issued.body
    return str(issued.body["status"]["token"])


async def review(api: Api, text: str, **spec: object) -> Obj:
    told: Obj = (await api.create(REVIEWS, {"spec": {"token": text, **spec}})).body["status"]
    return told


def claims(text: str) -> Obj:
    part = text.split(".")[1]
    told: Obj = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return told


async def test_a_token_names_its_account_and_says_how_long_it_lives(api: Api) -> None:
    account = (await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})).body
    said = claims(await token(api, expirationSeconds=600))
    assert said["sub"] == ROBOT
    assert said["exp"] - said["iat"] == 600
    assert said["aud"] == [said["iss"]] == [ISSUER]
    uid = account["metadata"]["uid"]
    assert said["kubernetes.io"] == {"namespace": "default", "serviceaccount": {"name": "robot", "uid": uid}}


async def test_whoever_shows_the_token_is_the_account(server: ApiServer, api: Api) -> None:
    uid = (await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})).body["metadata"]["uid"]
    text = await token(api)
    identity = authenticate(server._core, f"Bearer {text}", None)
    assert (identity.user, identity.uid) == (ROBOT, uid)
    assert identity.all_groups() == (
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    )
    told = await review(api, text)
    assert told["authenticated"] is True
    assert told["audiences"] == [ISSUER]
    assert told["user"]["extra"] == {"authentication.kubernetes.io/credential-id": [f"JTI={claims(text)['jti']}"]}


REFUSED = [
    ({"expirationSeconds": 599}, 422, "may not specify a duration less than 10 minutes"),
    ({"expirationSeconds": (1 << 32) + 1}, 422, "may not specify a duration larger than 2^32 seconds"),
    ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "no"}}, 404, 'pods "no" not found'),
    ({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "no"}}, 400, "cannot bind token to object"),
    (
        {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "x"}},
        409,
        "does not match the UID",
    ),
    ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}, 400, "different serviceaccount name."),
    ({"expirationSeconds": "x"}, 400, "cannot unmarshal string into Go struct field"),
    ([], 400, "cannot unmarshal array into Go struct field TokenRequest.spec"),
    ("x", 400, "cannot be handled as a TokenRequest"),
]


@pytest.mark.parametrize(("spec", "code", "sentence"), REFUSED)
async def test_what_cannot_be_issued_is_refused_in_words(api: Api, spec: Obj, code: int, sentence: str) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    await api.create(SECRETS, {"metadata": {"name": "s"}})
    await api.create(PODS, pod("p"))
    answered = await api.create(f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert answered.code == code
    assert sentence in answered.body.get("message", "")


async def test_a_token_for_an_absent_account_is_not_issued(api: Api) -> None:
    answered = await api.create(f"{ACCOUNTS}/nobody/token", {"spec": {}})
    assert (answered.code, answered.body["message"]) == (404, 'serviceaccounts "nobody" not found')


@pytest.mark.parametrize(("ahead", "good"), [(590, True), (650, True), (700, False)])
async def test_a_token_ends_when_it_says_and_a_minute_of_grace_is_over(
    server: ApiServer, api: Api, clock: Clock, ahead: int, good: bool
) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    text = await token(api, expirationSeconds=600)
    clock.ahead = ahead
    told = await review(api, text)
    assert told.get("authenticated", False) is good
    if not good:
        assert told["error"] == "[invalid bearer token, service account token has expired]"
        with pytest.raises(Unauthorized):
            authenticate(server._core, f"Bearer {text}", None)


async def test_a_token_dies_with_its_account_and_does_not_serve_the_next_of_that_name(api: Api) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    text = await token(api)
    await api.delete(f"{ACCOUNTS}/robot")
    assert (await review(api, text))["error"] == '[invalid bearer token, serviceaccounts "robot" not found]'
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    assert "does not match claim" in (await review(api, text))["error"]


async def test_a_bound_token_dies_with_what_it_is_bound_to(api: Api) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    await api.create(SECRETS, {"metadata": {"name": "s"}})
    text = await token(api, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "s"})
    assert (await review(api, text))["authenticated"] is True
    await api.delete(f"{SECRETS}/s")
    assert (await review(api, text))["error"] == "[invalid bearer token, service account token has been invalidated]"


async def test_a_token_bound_to_a_pod_tells_pod_and_node(api: Api) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    made = (await api.create(PODS, pod("p", serviceAccountName="robot", nodeName="n1"))).body
    text = await token(api, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    extra = (await review(api, text))["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-uid"] == [made["metadata"]["uid"]]
    assert extra["authentication.kubernetes.io/node-name"] == ["n1"]
    await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert "authenticated" not in await review(api, text)


async def test_a_token_for_another_audience_is_not_believed_here(server: ApiServer, api: Api) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    text = await token(api, audiences=["vault"])
    with pytest.raises(Unauthorized):
        authenticate(server._core, f"Bearer {text}", None)
    assert (await review(api, text, audiences=["vault", "x"]))["audiences"] == ["vault"]
    assert (await review(api, text))["error"] == (
        f'[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]]'
    )


async def test_nobody_else_can_sign(server: ApiServer, api: Api) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    text = await token(api)
    head, body, signature = text.split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    other = TokenSigner(SystemRuntime()).sign(claims(text))
    forged = [
        other,
        f"{unsigned}.{body}.",
        f"{unsigned}.{body}.{signature}",
        f"{head}.{body}.AAAA",
        "a.b.c",
        "",
        "é.é.é",
    ]
    for attempt in forged:
        with pytest.raises(Unauthorized):
            authenticate(server._core, f"Bearer {attempt}", None)


async def test_keys_for_verifying_are_published_and_fit(server: ApiServer, api: Api) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    text = await token(api)
    head = json.loads(base64.urlsafe_b64decode(text.split(".")[0] + "=="))
    found = (await api.get("/.well-known/openid-configuration")).body
    assert found["issuer"] == claims(text)["iss"]
    assert found["jwks_uri"].endswith("/openid/v1/jwks")
    (key,) = (await api.get("/openid/v1/jwks")).body["keys"]
    assert (key["kid"], key["alg"], key["crv"]) == (head["kid"], "ES256", "P-256")
    robot = Api(server.connect(Identity(ROBOT, ("system:serviceaccounts",))))
    assert (await robot.get("/openid/v1/jwks")).code == 200
    assert (await Api(server.connect(Identity("bob"))).get("/openid/v1/jwks")).code == 403


SECRET = {
    "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "robot"}},
    "type": "kubernetes.io/service-account-token",
}


async def filled(api: Api) -> Obj:
    while not (secret := (await api.get(f"{SECRETS}/t")).body).get("data"):
        continue
    return dict(secret)


async def test_a_token_secret_is_filled_and_goes_with_its_account(api: Api) -> None:
    account = (await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})).body
    await api.create(SECRETS, SECRET)
    secret = await filled(api)
    data = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
    assert (data["namespace"], data["ca.crt"]) == ("default", "root")
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == account["metadata"]["uid"]
    assert claims(data["token"])["kubernetes.io/serviceaccount/secret.name"] == "t"
    assert (await review(api, data["token"]))["user"]["username"] == ROBOT
    await api.delete(f"{ACCOUNTS}/robot")
    assert "authenticated" not in await review(api, data["token"])
    await api.until_gone(f"{SECRETS}/t")


async def test_a_token_secret_without_an_account_does_not_stay(api: Api) -> None:
    unnamed = {"metadata": {"name": "t"}, "type": SECRET["type"]}
    refused = await api.create(SECRETS, unnamed)
    assert refused.code == 422
    assert "metadata.annotations[kubernetes.io/service-account.name]: Required value" in refused.body["message"]
    assert (await api.create(SECRETS, SECRET)).code == 201
    await api.until_gone(f"{SECRETS}/t")


async def test_a_secret_that_was_deleted_takes_its_token_with_it(api: Api) -> None:
    await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    await api.create(SECRETS, SECRET)
    text = base64.b64decode((await filled(api))["data"]["token"]).decode()
    await api.delete(f"{SECRETS}/t")
    assert (await review(api, text))["error"] == "[invalid bearer token, Token has been invalidated]"


async def test_tokens_survive_a_restart_and_keys_stay_private(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        authority = CertificateAuthority.open(tmp_path / "pki", runtime=SystemRuntime())
        storage = SqliteStorage(tmp_path / "db")
        server = await ApiServer.open(
            name="x", storage=storage, runtime=SystemRuntime(), token_key=authority.token_key()
        )
        api = Api(server.connect(ADMIN))
        await api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
        texts.append(await token(api))
        assert [(await review(api, text)).get("authenticated") for text in texts] == [True] * len(texts)
        await server.close()
    assert (tmp_path / "pki" / "sa.key").stat().st_mode & 0o777 == 0o600
