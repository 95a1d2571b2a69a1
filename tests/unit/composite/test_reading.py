"""From controller objects to what they ask for, and everything that is wrong with those that cannot be served."""

import copy

import pytest

from hanse.composite.reading import NO_HOOKS, NO_MAP, read_controller
from hanse.composite.spec import (
    EVERYTHING,
    ChildRule,
    ControllerSpec,
    Endpoint,
    ETags,
    Hooks,
    HookSpec,
    JsonnetSpec,
    KindRef,
    Method,
    ParentRule,
    PythonSpec,
    Rollout,
    SecretKey,
    Sort,
    SourceSpec,
    SpecProblems,
    StatusCheck,
    Version,
    WebhookSpec,
)
from hanse.kube.selectors import LabelSelector
from tests.behaviour.metacontroller_kinds import (
    ACCEPTED,
    BROKEN_FORMS,
    BROKEN_RULES,
    UNREADABLE,
    by_webhook,
    composite,
    controller,
)

READ = {
    name: manifest
    for name, manifest in ACCEPTED.items()
    if manifest["kind"] != "ControllerRevision" and manifest["metadata"]["name"] != "without-hooks"
}


def spec_of(obj) -> ControllerSpec:
    read = read_controller(obj)
    assert isinstance(read, ControllerSpec), read
    return read


def problems_of(obj) -> list[str]:
    read = read_controller(obj)
    assert isinstance(read, SpecProblems), read
    return list(read.sentences)


def webhook_of(**fields) -> WebhookSpec:
    hook = spec_of(by_webhook(**fields)).hooks.sync
    assert hook is not None
    assert isinstance(hook.call, WebhookSpec)
    return hook.call


def hook(url: str, version: Version = Version.V1, **fields) -> HookSpec:
    return HookSpec(WebhookSpec(url=url, strict=version is Version.V2, **fields), version)


@pytest.mark.parametrize("manifest", READ.values(), ids=list(READ))
def test_whatever_a_server_takes_is_read_and_left_as_it_is(manifest):
    before = copy.deepcopy(manifest)

    assert spec_of(manifest).name == manifest["metadata"]["name"]
    assert manifest == before


def test_a_composite_is_read_with_every_field_of_metacontroller():
    labels = {"matchLabels": {"tier": "web"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]}
    url = "http://catsets.hooks"

    assert spec_of(ACCEPTED["CompositeController catsets"]) == ControllerSpec(
        sort=Sort.COMPOSITE,
        name="catsets",
        parents=(
            ParentRule(
                KindRef("ctl.example.com/v1", "catsets"),
                LabelSelector.from_object(labels),
                ignore_status_changes=True,
            ),
        ),
        children=(
            ChildRule(
                KindRef("v1", "pods"),
                Method.ROLLING_RECREATE,
                (StatusCheck("Ready", status="True"), StatusCheck("Mounted", reason="Done")),
            ),
            ChildRule(KindRef("v1", "persistentvolumeclaims")),
            ChildRule(KindRef("apps/v1", "statefulsets"), Method.ROLLING_IN_PLACE),
            ChildRule(KindRef("v1", "services"), Method.ON_DELETE),
        ),
        hooks=Hooks(
            sync=hook(f"{url}/sync"),
            finalize=hook(f"{url}/finalize", Version.V2, timeout=90.0),
            customize=hook(f"{url}/customize"),
            pre_update_child=hook(f"{url}/before"),
            post_update_child=hook(f"{url}/after"),
        ),
        revision_paths=(("spec", "template"), ("spec", "image")),
        resync_seconds=1.0,
    )


def test_a_decorator_selects_by_labels_and_by_annotations():
    read = spec_of(ACCEPTED["DecoratorController service-per-pod"])
    annotations = LabelSelector.from_object(
        {"matchLabels": {"wanted": "yes"}, "matchExpressions": [{"key": "ports", "operator": "Exists"}]}
    )

    assert read.sort is Sort.DECORATOR
    assert read.parents == (
        ParentRule(
            KindRef("apps/v1", "statefulsets"),
            LabelSelector.parse("app in (a,b)"),
            annotations,
            ignore_status_changes=True,
        ),
        ParentRule(KindRef("v1", "pods"), EVERYTHING, EVERYTHING),
    )
    assert [rule.method for rule in read.children] == [Method.IN_PLACE, Method.ON_DELETE, Method.ROLLING_RECREATE]
    assert (read.resync_seconds, read.rolls) == (3600.0, False)


def test_a_map_has_inputs_and_outputs():
    read = spec_of(ACCEPTED["MapController for-every-node"])

    assert read.parents == (
        ParentRule(
            KindRef("ctl.example.com/v1", "nodejobs"), LabelSelector.parse("tier=web"), ignore_status_changes=True
        ),
    )
    assert read.inputs == (ParentRule(KindRef("v1", "nodes")),)
    assert read.children == (
        ChildRule(KindRef("batch/v1", "jobs"), Method.RECREATE),
        ChildRule(KindRef("v1", "configmaps")),
    )
    assert read.hooks == Hooks(
        map=HookSpec(JsonnetSpec(SourceSpec(path="/hooks/map.jsonnet")), Version.V2),
        tombstone=hook("https://map.hooks/tombstone"),
    )


def test_python_and_jsonnet_hooks_are_read_with_their_limits():
    hooks = spec_of(ACCEPTED["CompositeController in-python"]).hooks
    decorator = spec_of(ACCEPTED["DecoratorController in-jsonnet"]).hooks

    assert hooks.sync == HookSpec(
        PythonSpec(SourceSpec(path="/hooks/sync.py"), "wanted", timeout=2.0, memory=128 * 1024 * 1024), Version.V2
    )
    assert hooks.finalize == HookSpec(
        PythonSpec(SourceSpec(config_map=SecretKey("code", "hooks", "finalize.py")), "finalize")
    )
    assert hooks.customize == HookSpec(PythonSpec(None, "customize", "company.hooks", memory=1_000_000))
    assert decorator.sync == HookSpec(
        JsonnetSpec(
            SourceSpec(config_map=SecretKey("code", "hooks", "sync.jsonnet")),
            (SourceSpec(path="/hooks/lib"), SourceSpec(config_map=SecretKey("libraries", "hooks", "k.libsonnet"))),
            timeout=3.0,
            memory=64 * 1024 * 1024,
        )
    )


@pytest.mark.parametrize(
    ("field", "function"),
    [
        ("finalize", "finalize"),
        ("customize", "customize"),
        ("preUpdateChild", "pre_update_child"),
        ("postUpdateChild", "post_update_child"),
    ],
)
def test_a_python_function_has_the_name_of_its_hook_where_none_is_given(field, function):
    hooks = {"sync": {"python": {"file": "/a.py"}}, field: {"python": {"file": "/a.py"}}}
    read = getattr(spec_of(composite(hooks)).hooks, function)

    assert read.call.function == function


def test_a_rollout_and_server_side_apply_are_read():
    read = spec_of(ACCEPTED["CompositeController in-python"])

    assert read.children[0].rollout == Rollout(2, 1, paused=True, by_cluster=True, fail_after=300.0)
    assert (read.server_side, read.rolls) == (True, True)


def test_what_is_not_said_has_metacontrollers_defaults():
    read = spec_of(composite(childResources=[{"apiVersion": "v1", "resource": "pods"}]))

    assert read == ControllerSpec(
        sort=Sort.COMPOSITE,
        name="refused",
        parents=(ParentRule(KindRef("ctl.example.com/v1", "catsets")),),
        children=(ChildRule(KindRef("v1", "pods"), Method.ON_DELETE),),
        hooks=Hooks(sync=HookSpec(WebhookSpec("http://a.b/c", timeout=10.0, strict=False), Version.V1)),
        revision_paths=(("spec",),),
        generate_selector=False,
        resync_seconds=None,
        server_side=False,
    )


@pytest.mark.parametrize(("given", "seconds"), [(None, None), (-1, 1.0), (0, 1.0), (1, 1.0), (90, 90.0)])
def test_a_resync_period_below_a_second_is_a_second(given, seconds):
    assert spec_of(composite(resyncPeriodSeconds=given)).resync_seconds == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("1m30s", 90.0),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("250us", 0.00025),
        ("0", 10.0),
        ("0s", 10.0),
        ("-3s", 10.0),
        (None, 10.0),
    ],
)
def test_a_timeout_is_a_go_duration_and_ten_seconds_where_it_is_not_above_zero(text, seconds):
    assert webhook_of(url="http://a.b", timeout=text).timeout == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["2 days", "1d", "9999999h"])
def test_a_duration_that_go_does_not_know_is_a_problem_although_servers_take_it(text):
    (told,) = problems_of(by_webhook(url="http://a.b", timeout=text))

    assert told.startswith("spec.hooks.sync.webhook.timeout: ")
    assert f'"{text}"' in told


@pytest.mark.parametrize(
    ("service", "path", "url"),
    [
        ({}, "/sync", "http://hooks.ns:80/sync"),
        ({"port": 8443, "protocol": "HTTPS"}, "/sync", "https://hooks.ns:8443/sync"),
        ({}, "sync", "http://hooks.ns:80/sync"),
    ],
)
def test_a_service_and_a_path_are_an_address(service, path, url):
    assert webhook_of(service={"name": "hooks", "namespace": "ns", **service}, path=path).url == url


def test_an_url_wins_over_a_service():
    assert webhook_of(url="http://a.b/c", service={"name": "x", "namespace": "y"}, path="/z").url == "http://a.b/c"


@pytest.mark.parametrize(
    ("version", "mode", "strict"),
    [("v1", None, False), ("v2", None, True), ("v1", "strict", True), ("v2", "loose", False)],
)
def test_the_mode_wins_over_the_version_in_saying_who_is_strict(version, mode, strict):
    webhook = {"url": "http://a.b", "responseUnMarshallMode": mode}
    read = spec_of(composite({"sync": {"version": version, "webhook": webhook}})).hooks.sync

    assert read is not None
    assert isinstance(read.call, WebhookSpec)
    assert (read.call.strict, read.version) == (strict, Version(version))


@pytest.mark.parametrize(
    ("etag", "read"),
    [
        (None, None),
        ({"enabled": False, "cacheTimeoutSeconds": 5}, None),
        ({"cacheTimeoutSeconds": 5}, None),
        ({"enabled": True}, ETags(None)),
        ({"enabled": True, "cacheTimeoutSeconds": 0}, ETags(None)),
        ({"enabled": True, "cacheTimeoutSeconds": 60}, ETags(60.0)),
        ({"enabled": True, "cacheTimeoutSeconds": 60, "cacheCleanupSeconds": 10}, ETags(60.0)),
    ],
)
def test_answers_are_kept_only_where_that_is_switched_on(etag, read):
    assert webhook_of(url="http://a.b", etag=etag).etags == read


def test_a_host_is_trusted_as_its_webhook_says_with_the_usual_keys():
    secret = {"name": "s", "namespace": "n"}
    read = webhook_of(
        url="https://a.b",
        caBundle={"secretRef": secret},
        clientTLS={"secretRef": secret},
        basicAuth={"secretRef": secret},
    )

    assert read.endpoint == Endpoint(
        ca_secret=SecretKey("s", "n", "ca.crt"),
        certificate=SecretKey("s", "n", "tls.crt"),
        private_key=SecretKey("s", "n", "tls.key"),
        username=SecretKey("s", "n", "username"),
        password=SecretKey("s", "n", "password"),
    )


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({}, "Bearer"),
        ({"type": ""}, "Bearer"),
        ({"type": " Token "}, "Token"),
    ],
)
def test_a_credential_is_a_bearer_token_where_nothing_else_is_said(given, read):
    authorization = {"secretRef": {"name": "s", "namespace": "n", "key": "k"}, **given}
    endpoint = webhook_of(url="https://a.b", authorization=authorization).endpoint

    assert endpoint == Endpoint(authorization_type=read, authorization=SecretKey("s", "n", "k"))


ONE, OTHER = {"caBundle": {"inline": "one"}}, {"caBundle": {"inline": "other"}}


@pytest.mark.parametrize(
    ("url", "host", "meant"),
    [
        ("https://a.b/c", "a.b", True),
        ("https://a.b/c", "A.B", True),
        ("https://a.b/c", "a.b:443", True),
        ("https://a.b:443/c", "a.b", True),
        ("https://a.b:443/c", "a.b:443", True),
        ("http://a.b/c", "a.b:80", True),
        ("http://a.b:80/c", "a.b", True),
        ("https://a.b:8443/c", "a.b:8443", True),
        ("https://[::1]/c", "[::1]:443", True),
        ("https://a.b:8443/c", "a.b", False),
        ("https://a.b/c", "a.b:80", False),
        ("https://a.b/c", "b", False),
    ],
)
def test_settings_of_a_host_are_for_its_webhooks_whether_or_not_the_usual_port_is_written(url, host, meant):
    read = spec_of(composite({"sync": {"webhook": {"url": url}}}, endpointConfigs=[{"host": host, **ONE}])).hooks.sync

    assert read is not None
    assert isinstance(read.call, WebhookSpec)
    assert read.call.endpoint == (Endpoint(ca_inline="one") if meant else None)


def test_the_first_entry_of_a_host_counts_and_a_webhooks_own_settings_replace_it_wholly():
    endpoints = [{"host": "c.d", **OTHER}, {"host": "a.b", **ONE}, {"host": "a.b", **OTHER}]
    authorization = {"secretRef": {"name": "s", "namespace": "n", "key": "k"}}
    read = spec_of(
        composite(
            {
                "sync": {"webhook": {"url": "https://a.b"}},
                "finalize": {"webhook": {"url": "https://a.b", "authorization": authorization}},
            },
            endpointConfigs=endpoints,
        )
    ).hooks

    assert [each.call.endpoint for each in (read.sync, read.finalize)] == [
        Endpoint(ca_inline="one"),
        Endpoint(authorization=SecretKey("s", "n", "k")),
    ]


@pytest.mark.parametrize("case", [*BROKEN_RULES.values(), *UNREADABLE.values()], ids=[*BROKEN_RULES, *UNREADABLE])
def test_what_a_servers_rules_would_refuse_is_a_problem_in_the_same_words(case):
    (told,) = problems_of(case.manifest)

    assert case.says in told
    assert case.field == "CompositeController" or told == f"{case.field}: {case.says}"


@pytest.mark.parametrize("case", BROKEN_FORMS.values(), ids=list(BROKEN_FORMS))
def test_what_does_not_have_the_form_is_a_problem_with_its_field(case):
    (told,) = problems_of(case.manifest)

    assert told.startswith(f"{case.field}: ")
    assert case.says in told


def kinds(*rules):
    return [{"apiVersion": "v1", "resource": "pods", **rule} for rule in rules]


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        pytest.param(ACCEPTED["CompositeController without-hooks"], f"spec.hooks: {NO_HOOKS}", id="1 no hooks"),
        pytest.param(composite({}), f"spec.hooks: {NO_HOOKS}", id="empty hooks"),
        pytest.param(composite({"sync": {"version": "v2"}}), f"spec.hooks: {NO_HOOKS}", id="a hook with no call"),
        pytest.param(
            composite({"customize": {"webhook": {"url": "http://a.b"}}}),
            f"spec.hooks: {NO_HOOKS}",
            id="customize alone",
        ),
        pytest.param(
            controller(
                "MapController",
                {"parentResource": kinds({})[0], "inputResources": kinds({}), "outputResources": kinds({})},
            ),
            f"spec.hooks: {NO_MAP}",
            id="a map without map",
        ),
        pytest.param(
            controller("DecoratorController", {"resources": [], "hooks": {"sync": {"python": {"file": "/a"}}}}),
            "spec.resources: name at least one kind",
            id="decorates nothing",
        ),
        pytest.param(
            composite(childResources=kinds({}, {"updateStrategy": {"method": "InPlace"}})),
            "spec.childResources[1]: pods.v1 is named before, with other settings; keep one",
            id="a kind twice",
        ),
        pytest.param(
            composite(parentResource={**kinds({"revisionHistory": {"fieldPaths": ["spec", "spec..a"]}})[0]}),
            'spec.parentResource.revisionHistory.fieldPaths[1]: "spec..a" is no path; write for example spec.template',
            id="no path",
        ),
        pytest.param(
            by_webhook(url="hooks/sync"),
            'spec.hooks.sync.webhook.url: "hooks/sync" is no address; write http:// or https://, a host and a path',
            id="no address",
        ),
        pytest.param(
            by_webhook(service={"name": "a", "namespace": "b", "port": 70000}, path="/c"),
            'spec.hooks.sync.webhook.service: "http://a.b:70000/c" is no address; '
            "write http:// or https://, a host and a path",
            id="no port",
        ),
        pytest.param(
            composite({"sync": {"python": {"file": "/a", "memory": "much"}}}),
            'spec.hooks.sync.python.memory: "much" is no amount of memory; write for example 256Mi',
            id="no amount",
        ),
        pytest.param(
            composite({"sync": {"jsonnet": {"file": "/a", "memory": -1}}}),
            'spec.hooks.sync.jsonnet.memory: "-1" is no amount of memory; write for example 256Mi',
            id="less than nothing",
        ),
        pytest.param(
            composite(
                parentResource=kinds({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}})[0]
            ),
            'spec.parentResource.labelSelector: "Is" is not a valid label selector operator',
            id="no operator",
        ),
        pytest.param(
            {"kind": "Pod"},
            "kind: 'Pod' is none of CompositeController, DecoratorController, MapController",
            id="a pod",
        ),
        pytest.param({**composite(), "metadata": None}, "metadata.name: Required value", id="no name"),
        pytest.param({**composite(), "spec": None}, "spec: Required value", id="no spec"),
    ],
)
def test_what_cannot_be_served_says_which_field_and_what_to_write(obj, problem):
    assert problems_of(obj) == [problem]


def test_the_same_kind_twice_with_the_same_settings_counts_once():
    assert spec_of(composite(childResources=kinds({}, {}))).children == (ChildRule(KindRef("v1", "pods")),)


def test_a_broken_entry_of_a_host_is_told_once_however_many_webhooks_are_there():
    webhook = {"webhook": {"url": "https://a.b"}}
    broken = composite({"sync": webhook, "finalize": webhook}, endpointConfigs=[{"host": "a.b", "caBundle": {}}])

    assert problems_of(broken) == [
        "spec.endpointConfigs[0].caBundle: give exactly one of inline, secretRef and configMapRef"
    ]


def test_all_problems_are_told_at_once():
    told = problems_of(
        composite(
            {"sync": {"webhook": {}}, "finalize": {"python": {}}},
            parentResource=kinds({"revisionHistory": {"fieldPaths": ["."]}})[0],
        )
    )

    assert [one.partition(": ")[0] for one in told] == [
        "spec.hooks.sync.webhook",
        "spec.hooks.finalize.python",
        "spec.parentResource.revisionHistory.fieldPaths[0]",
    ]
