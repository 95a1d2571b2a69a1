"""Whatever a client sends, the answer is theirs to fix: no request makes the server fail."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.runtime import SystemRuntime
from tests.component.apiserver.conftest import ADMIN, Answered, Api, config, deployment, pod

CONFIGS = "/api/v1/namespaces/default/configmaps"
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.text(max_size=8)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
)
CONTENT = (
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
)
SERVICE: dict[str, Any] = {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}}
TARGETS: list[tuple[str, dict[str, Any]]] = [
    (CONFIGS, config("x")),
    ("/apis/apps/v1/namespaces/default/deployments", deployment("x")),
    ("/api/v1/namespaces/default/pods", pod("x")),
    ("/api/v1/namespaces/default/services", SERVICE),
    ("/api/v1/namespaces", {"metadata": {"name": "x"}}),
    ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get"}}}),
    ("/api/v1/namespaces/default/pods/x/binding", {"target": {"name": "n"}}),
    ("/api/v1/namespaces/default/pods/x/eviction", {"metadata": {"name": "x"}}),
    ("/apis/apps/v1/namespaces/default/deployments/x/scale", {"spec": {"replicas": 1}}),
]


def put_somewhere(obj: Any, steps: list[int], value: Any) -> Any:
    """Return an object with one part, found by walking, replaced by something else."""
    if not steps or not isinstance(obj, dict | list) or not obj:
        return value
    keys = list(obj) if isinstance(obj, dict) else list(range(len(obj)))
    key = keys[steps[0] % len(keys)]
    copied = dict(obj) if isinstance(obj, dict) else list(obj)
    copied[key] = put_somewhere(obj[key], steps[1:], value)
    return copied


async def send_all(requests: list[tuple[str, str, Any, str]]) -> list[Answered]:
    server = await ApiServer.open(name="x", storage=MemoryStorage(), runtime=SystemRuntime())
    api = Api(server.connect(ADMIN))
    for path, body in TARGETS[:4]:
        await api.create(path, body)
    answers = [
        await api.call(method, path, body, **{"content-type": content}) for method, path, body, content in requests
    ]
    await server.close()
    return answers


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(TARGETS),
    st.lists(st.integers(0, 5), max_size=7),
    VALUES,
    st.sampled_from(CONTENT),
    st.text(max_size=5),
)
def test_a_body_with_a_wrong_part_is_refused_or_stored_never_a_fault(
    target: tuple[str, dict[str, Any]], steps: list[int], value: Any, content: str, name: str
) -> None:
    path, good = target
    body = put_somewhere(good, steps, value)
    single = path if path.count("/") > 6 else f"{path}/x"
    requests = [
        ("POST", path, body, "application/json"),
        ("PUT", single, body, "application/json"),
        ("PATCH", f"{single}?fieldManager=m", body, content),
        ("DELETE", single, body, "application/json"),
        ("GET", f"{path}?labelSelector={name}&fieldSelector={name}&limit={name}", None, content),
    ]
    answers = asyncio.run(send_all(requests))
    # An applied configuration that its schema cannot hold is a 500 upstream too, with these words.
    faults = [one for one in answers if one.code >= 500 and "failed to create typed patch object" not in str(one.body)]
    assert not faults


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{" * 5000,
        b'{"a":' * 2000,
        b"[" * 900 + b"]" * 900,
        b'{"metadata":{"name":1e999}}',
    ],
)
async def test_broken_bodies_are_bad_requests(api: Api, body: bytes) -> None:
    assert (await api.call("POST", CONFIGS, body)).code in (400, 422)


@pytest.mark.parametrize("part", ["pods/p/binding", "pods/p/eviction", "serviceaccounts/default/token"])
@pytest.mark.parametrize("body", [{"metadata": 3}, {"metadata": {"labels": []}}, [], "x"], ids=repr)
async def test_a_body_that_is_not_of_its_subresources_kind_is_a_bad_request(api: Api, part: str, body: Any) -> None:
    answered = await api.create(f"/api/v1/namespaces/default/{part}", body)

    assert answered.code == 400


async def test_a_deeply_nested_object_does_not_exhaust_the_stack(api: Api) -> None:
    body = b'{"metadata":{"name":"x"},"data":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}"
    assert (await api.call("POST", CONFIGS, body)).code == 400


async def test_yaml_references_cannot_multiply_without_end(api: Api) -> None:
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%b]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)]
    refused = await api.call("POST", CONFIGS, b"\n".join(lines), **{"content-type": "application/yaml"})
    assert refused.code == 400
    assert refused.body["message"].endswith("document contains excessive aliasing")
