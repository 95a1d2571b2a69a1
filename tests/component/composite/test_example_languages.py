"""The examples that are there in several languages: the same requests get the same answers, also over HTTP."""

import json
import runpy
import threading
from http.client import HTTPConnection

import pytest

from hanse.composite.hooks.calling import HookParts
from hanse.composite.hooks.jsonnet import jsonnet_hook
from hanse.composite.spec import JsonnetSpec, SourceSpec
from hanse.kube.runtime import SystemRuntime
from tests.simulation.composite.examples import FOLDER, Example
from tests.unit.composite.hooks.stored import Stored, key

CATSET, PROPAGATION = Example("catset"), Example("config-map-propagation")
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
STARTING = {"conditions": [{"type": "Ready", "status": "False"}]}


def catset(pods, *, replicas=3, started=None, finalizing=False, claims=(), volumes=True, stopping=()):
    """Ask about a CatSet with pods by their names, of which some are ready."""
    parent = CATSET.documents("parent.yaml")[-1]
    parent["spec"]["replicas"] = replicas
    if started is not None:
        parent["status"] = {"replicas": started}
    if not volumes:
        del parent["spec"]["volumeClaimTemplates"]
    observed = {
        name: {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name} | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if name in stopping else {}),
            "status": status,
        }
        for name, status in pods.items()
    }
    held = {name: {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}} for name in claims}
    children = {"Pod.v1": observed, "PersistentVolumeClaim.v1": held}
    return {"parent": parent, "children": children, "related": {}, "finalizing": finalizing}


# What is asked, the pods that shall be there, and the claims.
CATSETS = [
    (catset({}), [0], [0]),
    (catset({"cats-0": {}}, started=1), [0], [0]),
    (catset({"cats-0": READY}, started=1), [1, 0], [1, 0]),
    (catset({"cats-0": READY, "cats-1": READY, "cats-2": READY}, started=3), [2, 1, 0], [2, 1, 0]),
    # In the middle of a rollout the pod that was taken away comes back, though another one is not ready just then.
    (catset({"cats-0": STARTING, "cats-1": READY}, started=3), [2, 1, 0], [2, 1, 0]),
    (catset({"cats-1": READY}, started=0), [1, 0], [1, 0]),
    (catset({f"cats-{i}": READY for i in range(12)}, started=12, volumes=False), [*range(10, -1, -1)], []),
    (catset({"cats-0": READY, "cats-1": READY}, replicas=1, started=2, stopping=["cats-1"]), [0], [0]),
    (catset({"cats-0": READY, "stray": READY, "cats-": READY}, started=1, replicas=1), [0], [0]),
    (catset({"cats-0": READY}, started=1, replicas=1, claims=["www-cats-0", "www-cats-4"]), [0], [0, 4]),
    (catset({"cats-0": READY, "cats-1": STARTING}, finalizing=True, claims=["www-cats-1"]), [0], [0, 1]),
    (catset({}, finalizing=True, started=0, claims=["www-cats-0"]), [], [0]),
]


def propagation(*, targets=("a", "b"), source=None, namespaces=(), closing=()):
    """Ask about a propagation whose source, if there is one, has some content."""
    parent = PROPAGATION.documents("parent.yaml")[-1]
    parent["spec"]["targetNamespaces"] = list(targets)
    sources = {} if source is None else {"default/settings": {"metadata": {"name": "settings"}, **source}}
    known = {name: {"metadata": {"name": name}} for name in namespaces}
    for name in closing:
        known[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    related = {"ConfigMap.v1": sources, "Namespace.v1": known}
    return {"parent": parent, "children": {"ConfigMap.v1": {}}, "related": related, "finalizing": False}


# What is asked, and the namespaces that get a copy.
PROPAGATIONS = [
    (propagation(namespaces=["a", "b"]), []),
    (propagation(source={"data": {"x": "ä"}}, namespaces=["a", "b"]), ["a", "b"]),
    (propagation(source={"binaryData": {"x": "eA=="}}, namespaces=["b"]), ["b"]),
    (propagation(source={}, namespaces=["a", "b"], closing=["a"]), ["b"]),
    (propagation(targets=["default", "b"], source={"data": {}}, namespaces=["default", "b"]), ["b"]),
    (propagation(targets=[], source={"data": {}}), []),
]


def by_python(example, request):
    return example.functions["finalize" if request["finalizing"] else "sync"](request)


@pytest.mark.parametrize(("request_", "pods", "claims"), CATSETS)
def test_a_catset_wants_every_volume_that_it_ever_had_and_then_the_next_pods_in_falling_order(request_, pods, claims):
    answer = by_python(CATSET, request_)

    wanted = [each["metadata"]["name"] for each in answer["children"]]
    assert wanted == [f"www-cats-{ordinal}" for ordinal in claims] + [f"cats-{ordinal}" for ordinal in pods]
    assert answer.get("finalized") == (not request_["children"]["Pod.v1"] if request_["finalizing"] else None)


@pytest.mark.parametrize(("request_", "namespaces"), PROPAGATIONS)
def test_a_propagation_wants_a_copy_where_one_can_be(request_, namespaces):
    answer = by_python(PROPAGATION, request_)

    assert [each["metadata"]["namespace"] for each in answer["children"]] == namespaces


# All in one evaluation, since it is the process that costs.
EVERYTHING = """
function(asked) {
  catset: std.map(import 'catset.jsonnet', asked.catset),
  sync: std.map(import 'sync.jsonnet', asked.propagation),
  customize: std.map(import 'customize.jsonnet', asked.propagation),
}
"""


async def test_jsonnet_gives_the_answers_that_python_gives():
    catsets, propagations = [case[0] for case in CATSETS], [case[0] for case in PROPAGATIONS]
    stored = Stored()
    files = {
        "all.jsonnet": EVERYTHING,
        "catset.jsonnet": (CATSET.folder / "hook.jsonnet").read_text(),
        "sync.jsonnet": (PROPAGATION.folder / "hook.jsonnet").read_text(),
        "customize.jsonnet": (PROPAGATION.folder / "customize.jsonnet").read_text(),
    }
    stored.put("ConfigMap", "hooks", files)
    spec = JsonnetSpec(SourceSpec(config_map=key("hooks", "all.jsonnet")), timeout=60)
    hook = jsonnet_hook(spec, HookParts(SystemRuntime(), stored, workers=1))
    answers = await hook.call({"catset": catsets, "propagation": propagations}, {})
    await hook.close()

    assert answers["catset"] == [by_python(CATSET, each) for each in catsets]
    assert answers["sync"] == [by_python(PROPAGATION, each) for each in propagations]
    assert answers["customize"] == [PROPAGATION.functions["customize"](each) for each in propagations]


@pytest.fixture
def webhooks():
    served = runpy.run_path(str(FOLDER / "webhook.py"))["Webhooks"](("127.0.0.1", 0), str(CATSET.folder / "hook.py"))
    served.RequestHandlerClass.log_message = lambda *_said: None
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served.server_port
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/sync", 200, None),
        ("/nothing", 404, "/nothing: is none of /sync, /finalize"),
        ("/finalize", 500, "/finalize: KeyError: 'parent'"),
    ],
)
def test_the_webhook_program_serves_a_hook_file_and_says_what_went_wrong(webhooks, path, status, said):
    request = CATSETS[1][0] if status == 200 else {}
    connection = HTTPConnection("127.0.0.1", webhooks, timeout=60)
    connection.request("POST", path, json.dumps(request))
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()

    assert answer.status == status
    assert body == (by_python(CATSET, request) if said is None else {"message": said})
