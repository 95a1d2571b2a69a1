"""Reading and writing objects, as a client sees it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.component.apiserver.conftest import Api, config, deployment, pod

CONFIGS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"


async def test_a_created_object_gets_what_only_the_server_can_give(api: Api) -> None:
    created = await api.create(CONFIGS, config("a"))
    metadata = created.body["metadata"]
    assert created.code == 201
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["managedFields"][0]["manager"] == "test"
    assert (await api.get(f"{CONFIGS}/a")).body == created.body


async def test_a_generated_name_follows_its_prefix(api: Api) -> None:
    created = await api.create(CONFIGS, {"metadata": {"generateName": "x-"}})
    assert created.body["metadata"]["name"].startswith("x-")
    assert len(created.body["metadata"]["name"]) == 7


async def test_a_deployment_is_defaulted_as_upstream_does(api: Api) -> None:
    spec = (await api.create(DEPLOYMENTS, deployment())).body["spec"]
    assert spec["replicas"] == 1
    assert spec["progressDeadlineSeconds"] == 600
    assert spec["revisionHistoryLimit"] == 10
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
    }
    assert spec["template"]["spec"] == {
        "containers": [
            {
                "name": "app",
                "image": "nginx:1.27",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


async def test_generation_counts_changes_of_the_spec_only(api: Api) -> None:
    await api.create(DEPLOYMENTS, deployment())
    labelled = await api.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"x": "y"}}})
    scaled = await api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})
    status = await api.patch(f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 3}})
    seen = [one.body["metadata"]["generation"] for one in (labelled, scaled, status)]
    assert seen == [1, 2, 2]


async def test_an_update_that_changes_nothing_writes_nothing(api: Api) -> None:
    created = (await api.create(DEPLOYMENTS, deployment())).body
    again = await api.update(f"{DEPLOYMENTS}/web", created)
    assert again.body == created


async def test_the_main_endpoint_does_not_write_status_nor_the_status_endpoint_spec(api: Api) -> None:
    await api.create(DEPLOYMENTS, deployment())
    main = await api.patch(f"{DEPLOYMENTS}/web", {"status": {"replicas": 7}})
    assert main.body["status"] == {}
    status = await api.patch(f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 7}, "spec": {"replicas": 7}})
    assert status.body["status"] == {"replicas": 7}
    assert status.body["spec"]["replicas"] == 1


async def test_a_stale_update_is_a_conflict(api: Api) -> None:
    stale = (await api.create(CONFIGS, config("a"))).body
    await api.patch(f"{CONFIGS}/a", {"data": {"a": "2"}})
    refused = await api.update(f"{CONFIGS}/a", {**stale, "data": {"a": "3"}})
    assert refused.code == 409
    assert refused.body["reason"] == "Conflict"
    assert refused.body["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


PATCH_CASES: list[tuple[str, Any, dict[str, str]]] = [
    ("merge", {"data": {"a": None, "b": "2"}}, {"b": "2"}),
    ("json", [{"op": "add", "path": "/data/b", "value": "2"}], {"a": "1", "b": "2"}),
    ("strategic", {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
]


@pytest.mark.parametrize(("kind", "patch", "expected"), PATCH_CASES)
async def test_each_kind_of_patch_is_applied(api: Api, kind: str, patch: Any, expected: dict[str, str]) -> None:
    await api.create(CONFIGS, config("a"))
    patched = await api.patch(f"{CONFIGS}/a", patch, kind)
    assert patched.code == 200
    assert patched.body["data"] == expected


async def test_apply_creates_shares_conflicts_and_forces(api: Api) -> None:
    path = f"{CONFIGS}/a?fieldManager="
    created = await api.patch(f"{path}one", config("a"), "apply")
    assert created.code == 201
    refused = await api.patch(f"{path}two", config("a", data={"a": "2"}), "apply")
    assert refused.code == 409
    assert refused.body["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    forced = await api.patch(f"{path}two&force=true", config("a", data={"a": "2"}), "apply")
    assert forced.body["data"] == {"a": "2"}
    dropped = await api.patch(f"{path}two", config("a", data={}), "apply")
    assert dropped.body.get("data") is None


async def test_a_dry_run_answers_and_stores_nothing(api: Api) -> None:
    answered = await api.create(f"{CONFIGS}?dryRun=All", config("a"))
    assert answered.code == 201
    assert (await api.get(f"{CONFIGS}/a")).code == 404


async def test_unknown_fields_are_dropped_warned_of_or_refused(api: Api) -> None:
    body = {**config("a"), "nonsense": 1}
    strict = await api.create(f"{CONFIGS}?fieldValidation=Strict", body)
    assert strict.code == 400
    assert strict.body["message"].endswith('strict decoding error: unknown field "nonsense"')
    warned = await api.create(f"{CONFIGS}?fieldValidation=Warn", body)
    assert warned.warnings == '299 - "unknown field \\"nonsense\\""'
    assert "nonsense" not in warned.body


REFUSALS: list[tuple[str, str, Any, int, str]] = [
    ("POST", CONFIGS, {"metadata": {}}, 422, 'ConfigMap "" is invalid: metadata.name: Required value'),
    ("POST", CONFIGS, {"metadata": {"name": "A"}}, 422, 'ConfigMap "A" is invalid: metadata.name: Invalid value'),
    ("POST", CONFIGS, config("a", namespace="other"), 400, "the namespace of the provided object does not match"),
    ("POST", CONFIGS.replace("default", "nowhere"), config("a"), 404, 'namespaces "nowhere" not found'),
    ("POST", CONFIGS, {"kind": "Secret", "apiVersion": "v1"}, 400, 'Secret in version "v1" cannot be handled as'),
    ("POST", CONFIGS, b"{", 400, "the object provided is unrecognized (must be of type ConfigMap): couldn't get"),
    ("GET", f"{CONFIGS}/nope", None, 404, 'configmaps "nope" not found'),
    ("GET", "/api/v1/namespaces/default/nothing", None, 404, "the server could not find the requested resource"),
    ("PUT", CONFIGS, {}, 405, "the server does not allow this method on the requested resource"),
    ("GET", f"{CONFIGS}?fieldSelector=x=1", None, 400, '"x" is not a known field selector'),
    ("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": {}}, 422, 'Deployment.apps "d" is invalid: ['),
    ("DELETE", "/api/v1/namespaces/default", None, 403, 'namespaces "default" is forbidden: this namespace may not'),
]


@pytest.mark.parametrize(("method", "path", "body", "code", "message"), REFUSALS)
async def test_refusals_carry_the_code_and_the_words_of_upstream(
    api: Api, method: str, path: str, body: Any, code: int, message: str
) -> None:
    refused = await api.call(method, path, body)
    assert (refused.code, refused.body["kind"]) == (code, "Status")
    assert refused.body["message"].startswith(message)


IMMUTABLE: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (DEPLOYMENTS, deployment("x"), {"spec": {"selector": {"matchLabels": {"a": "b"}}}}, "field is immutable"),
    (
        SERVICES,
        {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 1}]}},
        {"spec": {"clusterIP": "10.96.0.99"}},
        "may not change once set",
    ),
    (CONFIGS, {**config("x"), "immutable": True}, {"data": {"a": "2"}}, "field is immutable when `immutable` is set"),
    (PODS, pod("x"), {"spec": {"hostNetwork": True}}, "pod updates may not change fields other than"),
]


@pytest.mark.parametrize(("path", "body", "change", "message"), IMMUTABLE)
async def test_immutable_fields_stay(
    api: Api, path: str, body: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    assert (await api.create(path, body)).code == 201
    refused = await api.patch(f"{path}/x", change)
    assert refused.code == 422
    assert message in refused.body["message"]


async def test_a_service_gets_an_address_of_its_own(api: Api) -> None:
    addresses = set()
    for name in ("a", "b", "c"):
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
        addresses.add((await api.create(SERVICES, body)).body["spec"]["clusterIP"])
    assert len(addresses) == 3
    assert all(address.startswith("10.96.") for address in addresses)


async def test_lists_come_in_pages_of_one_moment(api: Api) -> None:
    for name in ("p1", "p2", "p3"):
        await api.create(CONFIGS, config(name, labels={"page": "yes"}))
    first = (await api.get(f"{CONFIGS}?limit=2&labelSelector=page=yes")).body
    await api.delete(f"{CONFIGS}/p3")
    token = first["metadata"]["continue"]
    second = (await api.get(f"{CONFIGS}?limit=2&labelSelector=page=yes&continue={token}")).body
    assert [one["metadata"]["name"] for one in first["items"]] == ["p1", "p2"]
    assert [one["metadata"]["name"] for one in second["items"]] == ["p3"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_field_selectors_choose_by_what_the_kind_offers(api: Api) -> None:
    await api.create(PODS, pod("a", nodeName="n1"))
    await api.create(PODS, pod("b"))
    found = (await api.get(f"{PODS}?fieldSelector=spec.nodeName=n1")).body["items"]
    assert [one["metadata"]["name"] for one in found] == ["a"]


async def test_tables_and_partial_metadata_are_views_of_the_same_objects(api: Api) -> None:
    await api.create(DEPLOYMENTS, deployment(replicas=2))
    table = (await api.get(DEPLOYMENTS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")).body
    assert [column["name"] for column in table["columnDefinitions"]][:4] == ["Name", "Ready", "Up-to-date", "Available"]
    assert table["rows"][0]["cells"][:4] == ["web", "0/2", 0, 0]
    partial = (
        await api.get(f"{DEPLOYMENTS}/web", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    ).body
    assert partial["kind"] == "PartialObjectMetadata"
    assert "spec" not in partial


async def test_events_are_one_storage_under_two_groups(api: Api) -> None:
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started",
        "message": "it began",
        "type": "Normal",
    }
    await api.create("/api/v1/namespaces/default/events", event)
    other = (await api.get("/apis/events.k8s.io/v1/namespaces/default/events/e")).body
    assert (other["note"], other["regarding"]["name"], other["apiVersion"]) == ("it began", "p", "events.k8s.io/v1")


async def test_autoscalers_are_read_and_written_in_both_versions(api: Api) -> None:
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target}
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    await api.create(path, {"metadata": {"name": "h"}, "spec": spec})
    newer = (await api.get(path.replace("/v1/", "/v2/") + "/h")).body
    assert newer["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}
    assert (await api.get(f"{path}/h")).body["spec"]["targetCPUUtilizationPercentage"] == 50


async def test_scale_reads_and_sets_replicas(api: Api) -> None:
    await api.create(DEPLOYMENTS, deployment(replicas=2))
    assert (await api.get(f"{DEPLOYMENTS}/web/scale")).body["spec"] == {"replicas": 2}
    await api.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}})
    assert (await api.get(f"{DEPLOYMENTS}/web")).body["spec"]["replicas"] == 5


async def test_a_pod_is_bound_once(api: Api) -> None:
    await api.create(PODS, pod("p"))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    assert (await api.create(f"{PODS}/p/binding", binding)).code == 201
    bound = (await api.get(f"{PODS}/p")).body
    assert bound["spec"]["nodeName"] == "n"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    assert (await api.create(f"{PODS}/p/binding", binding)).code == 409


async def test_eviction_respects_the_disruption_budget(api: Api) -> None:
    running = pod("p", nodeName="n")
    running["metadata"]["labels"] = {"app": "x"}
    await api.create(PODS, running)
    await api.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}})
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    await api.create(budgets, budget)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    refused = await api.create(f"{PODS}/p/eviction", eviction)
    assert (refused.code, refused.body["reason"]) == (429, "TooManyRequests")
    await api.patch(f"{budgets}/b/status", {"status": {"disruptionsAllowed": 1}})
    assert (await api.create(f"{PODS}/p/eviction", eviction)).code == 201
    assert (await api.get(f"{PODS}/p")).body["metadata"]["deletionGracePeriodSeconds"] == 30


async def test_a_body_beyond_the_limit_is_refused(api: Api) -> None:
    refused = await api.create(CONFIGS, config("big", data={"a": "x" * (3 * 1024 * 1024)}))
    assert refused.code == 413


async def test_manifests_may_come_as_yaml(api: Api) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {when: 2020-01-01}\n"
    created = await api.call("POST", CONFIGS, text, **{"content-type": "application/yaml"})
    assert created.code == 201
    assert created.body["data"] == {"when": "2020-01-01"}
