"""Who may do what to which object: the evaluator, its reviews, impersonation, escalation and aggregation."""

from __future__ import annotations

import pytest

from hanse.apiserver import ApiServer, Identity
from hanse.apiserver.identity import service_account_groups
from hanse.kube.manifest import Obj
from tests.component.apiserver.conftest import Answered, Api, config, pod

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEW = "/apis/authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"


async def bind(api: Api, name: str, role: str, subject: Obj, namespace: str = "default") -> None:
    where = f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    made = await api.create(where, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
    assert made.code == 201, made.body


async def role(api: Api, name: str, *rules: Obj) -> None:
    assert (await api.create(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})).code == 201


def user(name: str) -> Obj:
    return {"kind": "User", "name": name}


ROBOT = Identity("system:serviceaccount:default:robot", service_account_groups("default"))
PEOPLE = {
    "root": Identity("root", ("system:masters",)),
    "admin": Identity("ann"),
    "editor": Identity("ed"),
    "viewer": Identity("vi"),
    "namer": Identity("nat"),
    "scaler": Identity("sky"),
    "grouped": Identity("gus", ("devs",)),
    "robot": ROBOT,
    "robots": Identity("system:serviceaccount:default:other", service_account_groups("default")),
    "stranger": Identity("sue"),
}
# What each may do: y in the namespace `default` only, Y in every namespace.
TABLE = """
verb    group  resource               name  root admin editor viewer namer scaler grouped robot robots stranger
get     core   configmaps             a     Y    y     y      y      y     -      -       y     -      -
get     core   configmaps             b     Y    y     y      y      -     -      -       y     -      -
list    core   configmaps             -     Y    y     y      y      -     -      -       y     -      -
create  core   configmaps             -     Y    y     y      -      -     -      -       -     -      -
delete  core   configmaps             a     Y    y     y      -      y     -      -       -     -      -
get     core   secrets                s     Y    y     y      -      -     -      -       -     Y      -
get     core   pods/log               p     Y    y     y      y      -     -      -       y     -      -
create  core   pods/exec              p     Y    y     y      -      -     -      -       -     -      -
update  apps   deployments/scale      d     Y    y     y      -      -     y      -       -     -      -
update  apps   deployments            d     Y    y     y      -      -     -      -       -     -      -
get     apps   replicasets/scale      r     Y    y     y      y      -     y      -       y     -      -
create  core   serviceaccounts/token  x     Y    y     y      -      -     -      -       -     -      -
create  rbac.authorization.k8s.io roles - Y    y     -      -      -     -      -       -     -      -
get     core   nodes                  n     Y    -     -      -      -     -      Y       -     -      -
list    core   namespaces             -     Y    -     -      -      -     -      Y       -     -      -
patch   core   nodes                  n     Y    -     -      -      -     -      -       -     -      -
deletecollection core pods            -     Y    y     y      -      -     -      -       -     -      -
get     core   namespaces             default Y  y     y      y      -     -      Y       y     -      -
"""


async def populate(api: Api) -> None:
    names = {"get delete": {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}}
    await role(api, "namer", *({**rule, "verbs": verbs.split()} for verbs, rule in names.items()))
    await role(api, "scaler", {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["get", "update"]})
    await role(api, "nodes", {"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get", "list"]})
    await role(api, "secrets", {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]})
    for name, what, who in (("1", "admin", "ann"), ("2", "edit", "ed"), ("3", "view", "vi")):
        await bind(api, name, what, user(who))
    await bind(api, "4", "namer", user("nat"))
    await bind(api, "5", "scaler", user("sky"))
    await bind(api, "6", "nodes", {"kind": "Group", "name": "devs"}, "")
    # A binding's own namespace is meant where a service account names none.
    await bind(api, "7", "view", {"kind": "ServiceAccount", "name": "robot"})
    await bind(api, "8", "secrets", {"kind": "ServiceAccount", "name": "other", "namespace": "default"}, "")


def rows() -> list[tuple[Obj, dict[str, str]]]:
    head, *lines = [line.split() for line in TABLE.strip().splitlines()]
    found = []
    for verb, group, resource, name, *marks in lines:
        plural, _, part = resource.partition("/")
        asked = {"verb": verb, "group": "" if group == "core" else group, "resource": plural, "subresource": part}
        found.append(({**asked, "name": "" if name == "-" else name}, dict(zip(head[4:], marks, strict=True))))
    return found


async def allowed(api: Api, asked: Obj, namespace: str) -> bool:
    spec = {"resourceAttributes": {**asked, "namespace": namespace}}
    answered = await api.create(f"{REVIEW}/selfsubjectaccessreviews", {"spec": spec})
    return bool(answered.body["status"]["allowed"])


async def test_every_user_may_do_to_every_object_what_the_table_says(server: ApiServer, api: Api) -> None:
    await populate(api)
    everyone = {name: Api(server.connect(identity)) for name, identity in PEOPLE.items()}
    wrong = []
    for asked, marks in rows():
        for name, mark in marks.items():
            cluster_wide = asked["resource"] == "nodes" or (asked["resource"], asked["verb"]) == ("namespaces", "list")
            expected = {"default": mark in ("y", "Y"), "kube-system": mark == "Y"}
            if cluster_wide:
                expected = {"": mark == "Y"}
            for namespace, may in expected.items():
                named = {**asked, "name": namespace} if asked["name"] == "default" else asked
                if await allowed(everyone[name], named, namespace) is not may:
                    wrong.append((name, named, namespace, may))
    assert wrong == []
    assert len(rows()) * len(PEOPLE) >= 180


REQUESTS = [
    ("viewer", "GET", "/api/v1/namespaces/default/configmaps/a", None, 200),
    ("viewer", "GET", "/api/v1/namespaces/kube-system/configmaps", None, 403),
    ("viewer", "GET", "/api/v1/configmaps", None, 403),
    ("viewer", "DELETE", "/api/v1/namespaces/default/configmaps/a", None, 403),
    ("viewer", "GET", "/api/v1/namespaces/default/secrets", None, 403),
    ("viewer", "GET", "/api/v1/namespaces/default", None, 200),
    ("viewer", "GET", "/api/v1/namespaces/kube-system", None, 403),
    ("editor", "POST", "/api/v1/namespaces/default/configmaps", config("new"), 201),
    ("editor", "POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}, 403),
    ("namer", "GET", "/api/v1/namespaces/default/configmaps/a", None, 200),
    ("namer", "GET", "/api/v1/namespaces/default/configmaps", None, 403),
    ("stranger", "GET", "/apis", None, 200),
    ("stranger", "GET", "/metrics", None, 403),
    ("stranger", "GET", "/hanse/backup", None, 403),
    ("editor", "GET", "/hanse/backup", None, 403),
    ("stranger", "POST", f"{REVIEW}/subjectaccessreviews", {"spec": {"user": "x"}}, 403),
    ("robot", "GET", "/api/v1/namespaces/default/pods/p/log", None, 200),
    ("robots", "GET", "/api/v1/namespaces/default/pods/p/log", None, 403),
]


async def test_requests_are_answered_by_the_same_evaluator(server: ApiServer, api: Api) -> None:
    await populate(api)
    await api.create("/api/v1/namespaces/default/configmaps", config("a"))
    await api.create("/api/v1/namespaces/default/pods", pod("p"))
    codes = [
        (await Api(server.connect(PEOPLE[who])).call(method, path, body)).code
        for who, method, path, body, _ in REQUESTS
    ]
    assert codes == [code for *_, code in REQUESTS]


async def test_a_review_names_the_binding_that_allows(server: ApiServer, api: Api) -> None:
    await populate(api)
    asked = {"namespace": "default", "verb": "get", "resource": "pods"}
    reasons = {
        "vi": 'RBAC: allowed by RoleBinding "3/default" of ClusterRole "view" to User "vi"',
        ROBOT.user: 'RBAC: allowed by RoleBinding "7/default" of ClusterRole "view" to ServiceAccount "robot/default"',
    }
    for name, reason in reasons.items():
        review = {"spec": {"user": name, "resourceAttributes": asked}}
        told = (await api.create(f"{REVIEW}/subjectaccessreviews", review)).body["status"]
        assert told == {"allowed": True, "reason": reason}
    review = {"spec": {"user": "sue", "groups": ["devs"], "resourceAttributes": {"verb": "get", "resource": "nodes"}}}
    told = (await api.create(f"{REVIEW}/subjectaccessreviews", review)).body["status"]
    assert told["reason"] == 'RBAC: allowed by ClusterRoleBinding "6" of ClusterRole "nodes" to Group "devs"'


BAD_REVIEWS = [
    ("subjectaccessreviews", {"user": "x"}, {}, "exactly one of nonResourceAttributes or resourceAttributes"),
    ("subjectaccessreviews", {"resourceAttributes": {}}, {}, "at least one of user or group must be specified"),
    ("selfsubjectaccessreviews", {"resourceAttributes": {}, "nonResourceAttributes": {}}, {}, "in combination with"),
    ("selfsubjectaccessreviews", {"resourceAttributes": {}}, {"name": "n"}, "must be empty"),
    (
        "namespaces/default/localsubjectaccessreviews",
        {"user": "x", "resourceAttributes": {"namespace": "other"}},
        {},
        'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
    ),
]


@pytest.mark.parametrize(("path", "spec", "metadata", "sentence"), BAD_REVIEWS)
async def test_a_review_that_asks_nothing_clear_is_invalid(
    api: Api, path: str, spec: Obj, metadata: Obj, sentence: str
) -> None:
    answered = await api.create(f"{REVIEW}/{path}", {"metadata": metadata, "spec": spec})
    assert answered.code == 422
    assert sentence in answered.body["message"]


async def test_all_that_somebody_may_do_can_be_listed(server: ApiServer, api: Api) -> None:
    await populate(api)
    nat = Api(server.connect(PEOPLE["namer"]))
    told = (await nat.create(f"{REVIEW}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})).body["status"]
    named = {"verbs": ["get", "delete"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}
    assert named in told["resourceRules"]
    assert {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]} in (
        told["nonResourceRules"]
    )
    assert told["incomplete"] is False


IMPERSONATE = {"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]}
EXTRA = {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/team", "uids"], "verbs": ["impersonate"]}
ONLY_BOB = {**IMPERSONATE, "resources": ["users"], "resourceNames": ["bob"]}
ON_LIST = {"apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:user-info:list"]}
AS_ANYBODY = {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"]}
ACTING = [
    ([IMPERSONATE], {"impersonate-user": "bob"}, "bob", ["system:authenticated"]),
    (
        [IMPERSONATE],
        {"impersonate-user": "bob", "impersonate-group": "a\nb"},
        "bob",
        ["a", "b", "system:authenticated"],
    ),
    ([ONLY_BOB], {"impersonate-user": "bob"}, "bob", ["system:authenticated"]),
    (
        [IMPERSONATE],
        {"impersonate-user": "system:serviceaccount:x:y"},
        "system:serviceaccount:x:y",
        ["system:serviceaccounts", "system:serviceaccounts:x", "system:authenticated"],
    ),
    ([IMPERSONATE], {"impersonate-user": "system:anonymous"}, "system:anonymous", ["system:unauthenticated"]),
]


@pytest.mark.parametrize(("rules", "headers", "name", "groups"), ACTING)
async def test_whoever_may_impersonate_becomes_the_other(
    server: ApiServer, api: Api, rules: list[Obj], headers: dict[str, str], name: str, groups: list[str]
) -> None:
    myself = {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]}
    await role(api, "i", *rules)
    await role(api, "m", myself)
    await bind(api, "b", "i", user("sue"), "")
    await bind(api, "anybody", "m", user("system:anonymous"), "")
    sue = Api(server.connect(PEOPLE["stranger"]))
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answered = await sue.call("POST", path, {}, **headers)
    assert answered.body["status"]["userInfo"] == {"username": name, "groups": groups}


async def list_as(api: Api, **headers: str) -> Answered:
    return await api.call(
        "GET", "/api/v1/namespaces/default/pods", None, **{f"impersonate-{k}": v for k, v in headers.items()}
    )


async def test_uid_and_extra_are_checked_by_themselves(server: ApiServer, api: Api) -> None:
    await role(api, "i", IMPERSONATE, EXTRA, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
    await bind(api, "b", "i", user("sue"), "")
    await bind(api, "c", "i", user("bob"), "")
    sue = Api(server.connect(PEOPLE["stranger"]))
    assert (await list_as(sue, user="bob", uid="7", **{"extra-team": "x"})).code == 200
    assert (await list_as(sue, user="bob", **{"extra-other": "x"})).code == 403


async def test_without_the_right_nobody_becomes_another(server: ApiServer, api: Api) -> None:
    sue = Api(server.connect(PEOPLE["stranger"]))
    refused = await list_as(sue, user="root", group="system:masters")
    assert refused.code == 403
    assert refused.body["message"] == (
        'pods is forbidden: User "sue" cannot impersonate-on:user-info:list resource "pods" in API group "" '
        'in the namespace "default"'
    )
    nameless = await list_as(Api(server.connect(PEOPLE["root"])), group="x")
    assert nameless.code == 400
    assert nameless.body["message"].endswith("without impersonating a user name")


async def test_a_constrained_right_covers_the_verb_that_it_names_only(server: ApiServer, api: Api) -> None:
    await role(api, "i", ON_LIST, AS_ANYBODY)
    await role(api, "pods", {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]})
    await bind(api, "b", "i", user("sue"), "")
    await bind(api, "c", "pods", user("bob"), "")
    sue = Api(server.connect(PEOPLE["stranger"]))
    assert (await list_as(sue, user="bob")).code == 200
    got = await sue.call("GET", "/api/v1/namespaces/default/pods/x", None, **{"impersonate-user": "bob"})
    assert got.code == 403


def clusterrole(name: str, *rules: Obj, **more: object) -> Obj:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
READ_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}
WRITE_ROLES = {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["create", "update", "get"]}


async def writer(server: ApiServer, api: Api, *rules: Obj) -> Api:
    await role(api, "writer", WRITE_ROLES, *rules)
    await bind(api, "writer", "writer", user("wes"), "")
    return Api(server.connect(Identity("wes", ("ops",))))


async def test_nobody_writes_a_role_that_gives_more_than_they_hold(server: ApiServer, api: Api) -> None:
    wes = await writer(server, api, READ_PODS)
    assert (await wes.create(f"{RBAC}/clusterroles", clusterrole("mine", READ_PODS))).code == 201
    refused = await wes.create(f"{RBAC}/clusterroles", clusterrole("more", READ_PODS, READ_NODES))
    assert refused.code == 403
    assert refused.body["message"] == (
        'clusterroles.rbac.authorization.k8s.io "more" is forbidden: user "wes" '
        '(groups=["ops" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}'
    )
    held = (await wes.get(f"{RBAC}/clusterroles/mine")).body
    grown = await wes.update(f"{RBAC}/clusterroles/mine", {**held, "rules": [READ_NODES]})
    assert grown.code == 403
    local = {"metadata": {"name": "l"}, "rules": [READ_NODES]}
    assert (await wes.create(f"{RBAC}/namespaces/default/roles", local)).code == 403


async def test_nobody_binds_a_role_that_gives_more_than_they_hold(server: ApiServer, api: Api) -> None:
    wes = await writer(server, api, READ_PODS)
    await role(api, "nodes", READ_NODES)

    def binding(name: str) -> Obj:
        return {"metadata": {"name": "b"}, "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}}

    refused = await wes.create(f"{RBAC}/clusterrolebindings", binding("nodes"))
    assert refused.code == 403
    assert "is attempting to grant RBAC permissions not currently held" in refused.body["message"]
    absent = await wes.create(f"{RBAC}/clusterrolebindings", binding("absent"))
    assert (absent.code, absent.body["message"]) == (
        404,
        'clusterrolebindings.rbac.authorization.k8s.io "absent" not found',
    )
    assert (await wes.create(f"{RBAC}/clusterrolebindings", binding("writer"))).code == 201


async def test_the_verbs_escalate_and_bind_lift_the_check(server: ApiServer, api: Api) -> None:
    lifted = {"apiGroups": [GROUP], "resources": ["clusterroles"], "verbs": ["escalate", "bind"]}
    wes = await writer(server, api, lifted)
    assert (await wes.create(f"{RBAC}/clusterroles", clusterrole("more", READ_NODES))).code == 201
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "more"}
    assert (
        await wes.create(f"{RBAC}/clusterrolebindings", {"metadata": {"name": "b"}, "roleRef": reference})
    ).code == 201


async def test_only_those_who_hold_everything_aggregate(server: ApiServer, api: Api) -> None:
    wes = await writer(server, api)
    rule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    refused = await wes.create(f"{RBAC}/clusterroles", clusterrole("agg", aggregationRule=rule))
    assert refused.code == 403
    assert refused.body["message"].endswith("must have cluster-admin privileges to use the aggregationRule")


async def rules_of(api: Api, name: str, count: int) -> list[Obj]:
    while len(rules := (await api.get(f"{RBAC}/clusterroles/{name}")).body.get("rules") or []) != count:
        continue
    return list(rules)


async def test_an_aggregated_role_follows_the_roles_that_it_selects(server: ApiServer, api: Api) -> None:
    await bind(api, "v", "view", user("vi"))
    selector = {"clusterRoleSelectors": [{"matchLabels": {"team": "x"}}]}
    await api.create(f"{RBAC}/clusterroles", clusterrole("all", aggregationRule=selector))
    part = clusterrole("part", READ_PODS)
    part["metadata"]["labels"] = {"team": "x", "rbac.authorization.k8s.io/aggregate-to-view": "true"}
    await api.create(f"{RBAC}/clusterroles", {**part, "rules": [READ_PODS, READ_NODES]})
    assert await rules_of(api, "all", 2) == [READ_PODS, READ_NODES]
    before = len((await api.get(f"{RBAC}/clusterroles/view")).body["rules"])
    for name in ("edit", "admin"):
        while READ_NODES not in (await api.get(f"{RBAC}/clusterroles/{name}")).body["rules"]:
            continue
    await api.delete(f"{RBAC}/clusterroles/part")
    assert await rules_of(api, "all", 0) == []
    assert len(await rules_of(api, "view", before - 2)) == before - 2


async def test_default_roles_are_there_from_the_first_moment(api: Api) -> None:
    counts = {}
    for name in ("admin", "edit", "view", "cluster-admin", "system:node"):
        counts[name] = len((await api.get(f"{RBAC}/clusterroles/{name}")).body["rules"])
    assert counts == {"admin": 29, "edit": 27, "view": 12, "cluster-admin": 2, "system:node": 25}


BAD_ROLES = [
    ("clusterroles", {"verbs": []}, "rules[0].verbs: Required value: verbs must contain at least one value"),
    ("clusterroles", {"verbs": ["get"]}, "rules[0].apiGroups: Required value: resource rules must supply at least one"),
    ("clusterroles", {"verbs": ["get"], "apiGroups": [""]}, "rules[0].resources: Required value: resource rules must"),
    (
        "namespaces/default/roles",
        {"verbs": ["get"], "nonResourceURLs": ["/x"]},
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ),
    (
        "clusterroles",
        {**READ_PODS, "nonResourceURLs": ["/x"]},
        "rules cannot apply to both regular resources and non-resource URLs",
    ),
]


@pytest.mark.parametrize(("path", "rule", "sentence"), BAD_ROLES)
async def test_a_rule_that_means_nothing_is_invalid(api: Api, path: str, rule: Obj, sentence: str) -> None:
    answered = await api.create(f"{RBAC}/{path}", {"metadata": {"name": "r"}, "rules": [rule]})
    assert answered.code == 422
    assert sentence in answered.body["message"]
