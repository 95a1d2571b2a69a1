"""JSON, merge and strategic merge patches."""

from __future__ import annotations

from tests.contract.step import (
    Step,
    config,
    deployment,
    get,
    json_patch,
    manifest,
    merge,
    namespace,
    post,
    strategic,
)

CONFIGS = "/api/v1/namespaces/patches/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/patches/deployments"
SERVICES = "/api/v1/namespaces/patches/services"
ONE, WEB = f"{CONFIGS}/one", f"{DEPLOYMENTS}/web"


def _change(op: str, path: str, **more: object) -> list[dict[str, object]]:
    return [{"op": op, "path": path, **more}]


STEPS: list[Step] = [
    *namespace("patches"),
    post("patches/create", CONFIGS, config("one", {"a": "1", "b": "2"}, labels={"x": "y"})),
    post("patches/create a deployment", DEPLOYMENTS, deployment("web")),
    merge(
        "patches/merge adds and removes",
        ONE,
        {"data": {"a": None, "c": "3"}},
        save={"version": "metadata.resourceVersion"},
    ),
    merge("patches/merge that changes nothing", ONE, {"data": {"c": "3"}}),
    merge("patches/merge dry run", f"{ONE}?dryRun=All", {"data": {"c": "4"}}),
    merge("patches/merge with a stale version", ONE, {"metadata": {"resourceVersion": "1"}, "data": {"c": "4"}}),
    merge(
        "patches/merge with the right version",
        ONE,
        {"metadata": {"resourceVersion": "<<version>>"}, "data": {"c": "5"}},
    ),
    merge("patches/merge with another uid", ONE, {"metadata": {"uid": "44444444-4444-4444-4444-444444444444"}}),
    merge("patches/merge with another name", ONE, {"metadata": {"name": "two"}}),
    merge("patches/merge with another namespace", ONE, {"metadata": {"namespace": "two"}}),
    merge("patches/merge with another kind", ONE, {"kind": "Secret"}),
    merge("patches/merge of what is absent", f"{CONFIGS}/absent", {}),
    merge("patches/merge of a wrong type", ONE, {"data": {"a": 1}}),
    merge("patches/merge that is a list", ONE, []),
    merge("patches/merge that is null", ONE, b"null"),
    merge("patches/merge that is broken", ONE, b"{"),
    merge("patches/merge with an unknown field", ONE, {"extra": 1}),
    merge("patches/merge with an unknown field, strictly", f"{ONE}?fieldValidation=Strict", {"extra": 1}),
    merge("patches/merge with force", f"{ONE}?force=true", {}),
    merge("patches/merge of a bad label", ONE, {"metadata": {"labels": {"bad key": "1"}}}),
    json_patch("patches/json add", ONE, _change("add", "/data/d", value="4")),
    json_patch("patches/json replace", ONE, _change("replace", "/data/d", value="5")),
    json_patch("patches/json remove", ONE, _change("remove", "/data/d")),
    json_patch("patches/json copy", ONE, _change("copy", "/data/e", **{"from": "/data/b"})),
    json_patch("patches/json move", ONE, _change("move", "/data/f", **{"from": "/data/e"})),
    json_patch("patches/json test that holds", ONE, _change("test", "/data/b", value="2")),
    json_patch("patches/json test that fails", ONE, _change("test", "/data/b", value="9")),
    json_patch("patches/json replaces what is absent", ONE, _change("replace", "/data/zz", value="1")),
    json_patch("patches/json removes what is absent", ONE, _change("remove", "/data/zz")),
    json_patch("patches/json adds below what is absent", ONE, _change("add", "/zz/zz", value="1")),
    json_patch("patches/json with an unknown operation", ONE, _change("twist", "/data/b")),
    json_patch("patches/json with a bad pointer", ONE, _change("add", "data/b", value="1")),
    json_patch("patches/json that is an object", ONE, {"op": "add"}),
    json_patch("patches/json that is empty", ONE, []),
    json_patch("patches/json that is broken", ONE, b"["),
    json_patch("patches/json appends to a list", ONE, _change("add", "/metadata/finalizers", value=["example.com/a"])),
    json_patch("patches/json appends at the end", ONE, _change("add", "/metadata/finalizers/-", value="example.com/b")),
    json_patch("patches/json removes by place", ONE, _change("remove", "/metadata/finalizers/0")),
    json_patch("patches/json clears the rest", ONE, _change("remove", "/metadata/finalizers")),
    strategic(
        "patches/strategic adds a container",
        WEB,
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}},
    ),
    strategic(
        "patches/strategic changes one container",
        WEB,
        {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "nginx:1.28"}]}}}},
    ),
    strategic(
        "patches/strategic deletes a container",
        WEB,
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}},
    ),
    strategic("patches/strategic replaces a map", WEB, {"metadata": {"labels": {"$patch": "replace", "only": "this"}}}),
    strategic(
        "patches/strategic retains keys", WEB, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    ),
    strategic(
        "patches/strategic orders a list",
        WEB,
        {
            "spec": {
                "template": {
                    "spec": {
                        "$setElementOrder/containers": [{"name": "new"}, {"name": "app"}],
                        "containers": [{"name": "new", "image": "busybox"}],
                    }
                }
            }
        },
    ),
    strategic(
        "patches/strategic with a bad directive",
        WEB,
        {"spec": {"template": {"spec": {"containers": [{"name": "x", "$patch": "shuffle"}]}}}},
    ),
    strategic("patches/strategic of a wrong type", WEB, {"spec": {"replicas": "three"}}),
    strategic(
        "patches/strategic without a merge key", WEB, {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}
    ),
    strategic(
        "patches/strategic adds an environment",
        WEB,
        {"spec": {"template": {"spec": {"containers": [{"name": "app", "env": [{"name": "A", "value": "1"}]}]}}}},
    ),
    strategic("patches/strategic sets a primitive list", WEB, {"metadata": {"finalizers": ["example.com/a"]}}),
    strategic(
        "patches/strategic deletes from a primitive list",
        WEB,
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
    ),
    post(
        "patches/create a service",
        SERVICES,
        manifest("v1", "Service", "s", spec={"ports": [{"name": "a", "port": 80}], "selector": {"app": "web"}}),
    ),
    strategic("patches/strategic adds a port", f"{SERVICES}/s", {"spec": {"ports": [{"name": "b", "port": 81}]}}),
    strategic(
        "patches/strategic deletes a port", f"{SERVICES}/s", {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}
    ),
    get("patches/what became of the deployment", WEB),
]
