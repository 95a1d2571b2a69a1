"""Who asks, and what they may: tokens of service accounts, roles, reviews."""

from __future__ import annotations

from typing import Any

from tests.contract.step import Step, config, delete, get, manifest, merge, namespace, post

NS = "/api/v1/namespaces/access"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
AS_READER = {"Authorization": "Bearer <<token>>"}
NOBODY = {"Authorization": ""}
_USER = "system:serviceaccount:access:reader"


def _subject(**attributes: Any) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": attributes}


_RESOURCE = {"namespace": "access", "verb": "get", "resource": "configmaps"}

STEPS: list[Step] = [
    *namespace("access"),
    post("access/service account", f"{NS}/serviceaccounts", manifest("v1", "ServiceAccount", "reader")),
    post(
        "access/its token",
        f"{NS}/serviceaccounts/reader/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        save={"token": "status.token"},
    ),
    post("access/a token for a short time", f"{NS}/serviceaccounts/reader/token", {"spec": {"expirationSeconds": 10}}),
    post("access/a token of what is absent", f"{NS}/serviceaccounts/absent/token", {"spec": {}}),
    post("access/who am I", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=AS_READER),
    post("access/review the token", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "<<token>>"}}),
    post("access/review a forged token", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "forged"}}),
    get("access/nobody reads", f"{NS}/configmaps", headers=NOBODY),
    get("access/nobody sees the version", "/version", headers=NOBODY),
    get("access/nobody sees health", "/healthz", headers=NOBODY, accept=""),
    get("access/a forged token", f"{NS}/configmaps", headers={"Authorization": "Bearer forged"}),
    get("access/reader lists nothing yet", f"{NS}/configmaps", headers=AS_READER),
    get("access/reader gets nothing yet", f"{NS}/configmaps/one", headers=AS_READER),
    get("access/reader lists nodes", "/api/v1/nodes", headers=AS_READER),
    get("access/reader sees metrics", "/metrics", headers=AS_READER),
    get("access/reader sees discovery", "/apis/apps/v1", headers=AS_READER),
    post("access/reader creates nothing", f"{NS}/configmaps", config("x"), headers=AS_READER),
    merge("access/reader patches nothing", f"{NS}/configmaps/x", {}, headers=AS_READER),
    delete("access/reader deletes nothing", f"{NS}/configmaps/x", headers=AS_READER),
    delete("access/reader deletes no collection", f"{NS}/configmaps", headers=AS_READER),
    get("access/reader watches nothing", f"{NS}/configmaps?watch=true", headers=AS_READER),
    get("access/reader of a subresource", "/apis/apps/v1/namespaces/access/deployments/x/scale", headers=AS_READER),
    post(
        "access/role",
        f"{RBAC}/namespaces/access/roles",
        manifest(
            "rbac.authorization.k8s.io/v1",
            "Role",
            "reader",
            rules=[
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
                {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get"]},
            ],
        ),
    ),
    post(
        "access/binding",
        f"{RBAC}/namespaces/access/rolebindings",
        manifest(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "reader",
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            subjects=[{"kind": "ServiceAccount", "name": "reader", "namespace": "access"}],
        ),
    ),
    get("access/reader lists", f"{NS}/configmaps?labelSelector=none", headers=AS_READER, until=200),
    get("access/reader gets its secret", f"{NS}/secrets/mine", headers=AS_READER),
    get("access/reader gets no other secret", f"{NS}/secrets/other", headers=AS_READER),
    get("access/reader of another namespace", "/api/v1/namespaces/default/configmaps", headers=AS_READER),
    post(
        "access/may I",
        f"{REVIEWS}/selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": _RESOURCE}},
        headers=AS_READER,
    ),
    post(
        "access/may I not",
        f"{REVIEWS}/selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": {**_RESOURCE, "verb": "delete"}}},
        headers=AS_READER,
    ),
    post(
        "access/may the administrator",
        f"{REVIEWS}/selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": _RESOURCE}},
    ),
    post(
        "access/may a path",
        f"{REVIEWS}/selfsubjectaccessreviews",
        {"spec": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}},
        headers=AS_READER,
    ),
    post("access/may nothing in particular", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {}}),
    post("access/may another", f"{REVIEWS}/subjectaccessreviews", _subject(user=_USER, resourceAttributes=_RESOURCE)),
    post(
        "access/may another not",
        f"{REVIEWS}/subjectaccessreviews",
        _subject(user="nobody", resourceAttributes=_RESOURCE),
    ),
    post("access/may nobody named", f"{REVIEWS}/subjectaccessreviews", _subject(resourceAttributes=_RESOURCE)),
    post(
        "access/may another here",
        f"{REVIEWS}/namespaces/access/localsubjectaccessreviews",
        {"metadata": {"namespace": "access"}, "spec": {"user": _USER, "resourceAttributes": _RESOURCE}},
    ),
    post(
        "access/may another elsewhere",
        f"{REVIEWS}/namespaces/access/localsubjectaccessreviews",
        {
            "metadata": {"namespace": "access"},
            "spec": {"user": _USER, "resourceAttributes": {**_RESOURCE, "namespace": "other"}},
        },
    ),
    post(
        "access/what may I", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "access"}}, headers=AS_READER
    ),
    get("access/list reviews", f"{REVIEWS}/selfsubjectaccessreviews"),
    get("access/impersonated", f"{NS}/configmaps?labelSelector=none", headers={"Impersonate-User": _USER}),
    get("access/impersonated nobody", f"{NS}/configmaps", headers={"Impersonate-User": "nobody"}),
    get("access/impersonation by a reader", f"{NS}/configmaps", headers={**AS_READER, "Impersonate-User": "admin"}),
    post(
        "access/more than one's own",
        f"{RBAC}/clusterroles",
        manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "too-much", rules=[]),
        headers=AS_READER,
    ),
]
