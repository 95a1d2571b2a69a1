"""Server-side apply: owners, conflicts, force, what is given up and what cannot be."""

from __future__ import annotations

from tests.contract.step import (
    APPLY,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Step,
    apply,
    config,
    deployment,
    get,
    manifest,
    merge,
    put,
)

CONFIGS = "/api/v1/namespaces/patches/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/patches/deployments"
SERVICES = "/api/v1/namespaces/patches/services"


def _applied(name: str, data: dict[str, str], **metadata: object) -> dict[str, object]:
    return config(name, data, **metadata)


def _web(**spec: object) -> dict[str, object]:
    return deployment("applied", **spec)


CONFIG, DEPLOYED = f"{CONFIGS}/applied", f"{DEPLOYMENTS}/applied"
STEPS: list[Step] = [
    apply(
        "apply/creates",
        f"{CONFIG}?fieldManager=one",
        _applied("applied", {"a": "1", "b": "1"}),
        save={"version": "metadata.resourceVersion"},
    ),
    apply("apply/nothing new", f"{CONFIG}?fieldManager=one", _applied("applied", {"a": "1", "b": "1"})),
    apply("apply/shared by two", f"{CONFIG}?fieldManager=two", _applied("applied", {"a": "1"})),
    apply("apply/conflict of one field", f"{CONFIG}?fieldManager=two", _applied("applied", {"a": "2"})),
    apply("apply/conflict of two fields", f"{CONFIG}?fieldManager=two", _applied("applied", {"a": "2", "b": "2"})),
    apply("apply/forced", f"{CONFIG}?fieldManager=two&force=true", _applied("applied", {"a": "2"})),
    apply("apply/removed by its owner", f"{CONFIG}?fieldManager=one", _applied("applied", {"c": "1"})),
    apply("apply/left out by one of two owners", f"{CONFIG}?fieldManager=two", _applied("applied", {})),
    merge("apply/changed by an update", f"{CONFIG}?fieldManager=three", {"data": {"c": "2"}}),
    apply("apply/conflict with an update", f"{CONFIG}?fieldManager=one", _applied("applied", {"c": "1"})),
    apply("apply/dry run", f"{CONFIG}?fieldManager=one&dryRun=All&force=true", _applied("applied", {"c": "1"})),
    apply(
        "apply/from yaml",
        f"{CONFIG}?fieldManager=yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\n  labels: {l: v}\n",
    ),
    apply("apply/broken yaml", f"{CONFIG}?fieldManager=yaml", "a: ["),
    apply("apply/without kind", f"{CONFIG}?fieldManager=one", {"metadata": {"name": "applied"}}),
    apply("apply/another name", f"{CONFIG}?fieldManager=one", _applied("other", {})),
    apply(
        "apply/without name", f"{CONFIG}?fieldManager=one", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    ),
    apply(
        "apply/managed fields", f"{CONFIG}?fieldManager=one", _applied("applied", {}, managedFields=[{"manager": "x"}])
    ),
    apply("apply/of an unknown field", f"{CONFIG}?fieldManager=one", {**_applied("applied", {}), "extra": 1}),
    apply(
        "apply/of an unknown field, ignored",
        f"{CONFIG}?fieldManager=one&fieldValidation=Ignore",
        {**_applied("applied", {}), "extra": 1},
    ),
    apply("apply/of a wrong type", f"{CONFIG}?fieldManager=one", _applied("applied", {"a": 1})),  # type: ignore[dict-item]
    apply("apply/with a stale version", f"{CONFIG}?fieldManager=one", _applied("applied", {}, resourceVersion="1")),
    apply(
        "apply/with another uid",
        f"{CONFIG}?fieldManager=one",
        _applied("applied", {}, uid="55555555-5555-5555-5555-555555555555"),
    ),
    apply(
        "apply/with a uid that is absent",
        f"{CONFIGS}/absent?fieldManager=one",
        _applied("absent", {}, uid="55555555-5555-5555-5555-555555555555"),
    ),
    apply("apply/in an absent namespace", "/api/v1/namespaces/absent/configmaps/x?fieldManager=one", _applied("x", {})),
    get("apply/what became of it", CONFIG),
    apply("apply/deployment", f"{DEPLOYED}?fieldManager=one", _web(replicas=2)),
    merge("apply/scaled by another", f"{DEPLOYED}?fieldManager=scaler", {"spec": {"replicas": 5}}),
    apply("apply/conflict on replicas", f"{DEPLOYED}?fieldManager=one", _web(replicas=2)),
    apply("apply/replicas given up", f"{DEPLOYED}?fieldManager=one", _web()),
    apply(
        "apply/a second container",
        f"{DEPLOYED}?fieldManager=two",
        {**_web(), "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}},
    ),
    apply(
        "apply/the same container twice",
        f"{DEPLOYED}?fieldManager=two",
        {**_web(), "spec": {"template": {"spec": {"containers": [{"name": "side"}, {"name": "side"}]}}}},
    ),
    apply(
        "apply/a container without its key",
        f"{DEPLOYED}?fieldManager=two",
        {**_web(), "spec": {"template": {"spec": {"containers": [{"image": "busybox"}]}}}},
    ),
    apply(
        "apply/the second container removed",
        f"{DEPLOYED}?fieldManager=two",
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "applied"}},
    ),
    apply(
        "apply/an immutable field",
        f"{DEPLOYED}?fieldManager=two&force=true",
        {**_web(), "spec": {"selector": {"matchLabels": {"app": "z"}}}},
    ),
    apply(
        "apply/status", f"{DEPLOYED}/status?fieldManager=status", {**_web(), "spec": None, "status": {"replicas": 3}}
    ),
    apply(
        "apply/status through the main path",
        f"{DEPLOYED}?fieldManager=status2",
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "applied"}, "status": {"replicas": 4}},
    ),
    get("apply/what became of the deployment", DEPLOYED),
    apply(
        "apply/quantities are compared by value",
        f"{DEPLOYMENTS}/sized?fieldManager=one",
        deployment(
            "sized",
            template={
                "metadata": {"labels": {"app": "sized"}},
                "spec": {
                    "containers": [
                        {"name": "app", "image": "x", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}
                    ]
                },
            },
        ),
    ),
    apply(
        "apply/ports have a protocol in their key",
        f"{SERVICES}/applied?fieldManager=one",
        manifest(
            "v1",
            "Service",
            "applied",
            spec={
                "selector": {"app": "x"},
                "ports": [
                    {"name": "dns", "port": 53, "protocol": "UDP"},
                    {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
                ],
            },
        ),
    ),
    apply(
        "apply/one port removed",
        f"{SERVICES}/applied?fieldManager=one",
        manifest(
            "v1",
            "Service",
            "applied",
            spec={"selector": {"app": "x"}, "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}]},
        ),
    ),
    put("apply/replaced by an update", f"{CONFIG}?fieldManager=four", config("applied", {"z": "1"})),
    Step(
        "apply/strategic to a config map", "PATCH", f"{CONFIG}?fieldManager=five", {"data": {"y": "1"}}, STRATEGIC_PATCH
    ),
    Step(
        "apply/upper case content type",
        "PATCH",
        f"{CONFIG}?fieldManager=five&dryRun=All",
        {"data": {"y": "2"}},
        MERGE_PATCH.upper(),
    ),
    Step(
        "apply/content type with a charset",
        "PATCH",
        f"{CONFIG}?fieldManager=five",
        config("applied", {"q": "1"}),
        f"{APPLY}; charset=utf-8",
    ),
]
