"""Requests to servers that ask webhooks: each object names, by a label, the webhook that is to be asked about it."""

from __future__ import annotations

from typing import Any

from tests.component.apiserver.admission_webhook import Webhook, allowed, denied, patching
from tests.contract.step import Obj, Step, config, delete, deployment, manifest, merge, namespace, post, put, template

_HOOKS = "/apis/admissionregistration.k8s.io/v1"
_API = "admissionregistration.k8s.io/v1"
_CORE = "/api/v1/namespaces/hooks"
_CONFIGS = f"{_CORE}/configmaps"
_WEB = "/apis/apps/v1/namespaces/hooks/deployments/web"
_SCALERS = "/apis/autoscaling/v2/namespaces/hooks/horizontalpodautoscalers"
MARKER = "marker"


def answers(webhook: Webhook) -> None:
    """Tell the webhook what to say at each of its paths."""
    added = {"op": "add", "path": "/data/seen", "value": "yes"}
    webhook.answers |= {
        "/deny": denied(message="not here", code=403, reason="Forbidden"),
        "/silent": denied(),
        "/teapot": denied(message="short", code=418, details={"kind": "pot"}),
        "/warn": allowed(warnings=["careful", "very careful"]),
        "/other": allowed(uid="another"),
        "/patching": patching(added),
        "/patch": patching(added),
        "/number": patching({"op": "add", "path": "/data/seen", "value": 7}),
        "/nowhere": patching({"op": "remove", "path": "/data/none"}),
        "/untyped": allowed(patch="W10="),
        "/garbled": allowed(patch="bm90IGpzb24=", patchType="JSONPatch"),
        "/unknown": patching({"op": "add", "path": "/unknown", "value": "x"}),
        "/first": _counted(webhook),
        "/second": patching({"op": "add", "path": "/data/second", "value": "1"}),
        "/rescale": patching({"op": "replace", "path": "/spec/replicas", "value": 5}),
    }


def _counted(webhook: Webhook) -> Any:
    def answer(request: Obj) -> Obj:
        asked = [one for path, one in webhook.asked if path == "/first" and one["name"] == request["name"]]
        return patching({"op": "add", "path": "/data/first", "value": str(len(asked))})(request)

    return answer


def _rule(*resources: str, group: str = "", version: str = "*", operations: tuple[str, ...] = ("*",)) -> Obj:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
    }


def _hook(webhook: Webhook, path: str, *rules: Obj, **more: Any) -> Obj:
    selector = {} if rules else {"objectSelector": {"matchLabels": {"hook": path}}}
    return {
        "name": f"{path}.example.com",
        "clientConfig": webhook.config(f"/{path}"),
        "rules": list(rules) or [_rule("configmaps")],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 2,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hooks"}},
        **selector,
        **more,
    }


def _configured(webhook: Webhook) -> list[Step]:
    simple = ("deny", "silent", "teapot", "warn", "other", "patching", "broken")
    validating = [
        *(_hook(webhook, path) for path in simple),
        _hook(webhook, "stuck", timeoutSeconds=1),
        {**_hook(webhook, "ignored", failurePolicy="Ignore"), "clientConfig": webhook.config("/broken")},
        _hook(webhook, "parts", _rule("pods/binding", "pods/eviction", "pods/exec", "serviceaccounts/token")),
        _hook(webhook, "versions", _rule("horizontalpodautoscalers", group="autoscaling", version="v1")),
        _hook(webhook, "exact", _rule("horizontalpodautoscalers", group="autoscaling", version="v1"),
              matchPolicy="Exact"),
        _hook(webhook, "scales", _rule("deployments/scale", group="apps")),
        _hook(webhook, "conditional", matchConditions=[
            {"name": "named", "expression": "request.name == 'chosen'"},
            {"name": "held", "expression": "has(object.data) && object.data.size() > 0"},
        ]),
        _hook(webhook, "undecided", matchConditions=[{"name": "none", "expression": "object.none == 1"}]),
        {**_hook(webhook, "nobody"), "clientConfig": {"url": "https://127.0.0.1:1/nobody"}},
    ]  # fmt: skip
    mutating = [
        *(_hook(webhook, path) for path in ("patch", "number", "nowhere", "untyped", "garbled", "unknown")),
        _hook(webhook, "first", reinvocationPolicy="IfNeeded", objectSelector={"matchLabels": {"twice": "yes"}}),
        _hook(webhook, "second", objectSelector={"matchLabels": {"twice": "yes"}}),
        _hook(webhook, "rescale", _rule("deployments/scale", group="apps")),
    ]
    last = _hook(webhook, "deny", objectSelector={"matchLabels": {"hook": MARKER}}, name="marker.example.com")
    first = _hook(webhook, "patch", objectSelector={"matchLabels": {"hook": MARKER}}, name="marker.example.com")
    return [
        post("hooks/mutating", f"{_HOOKS}/mutatingwebhookconfigurations",
             manifest(_API, "MutatingWebhookConfiguration", "hooks", webhooks=[*mutating, first])),
        post("hooks/mutating in force", f"{_CONFIGS}?dryRun=All", _labelled(MARKER), until=201, until_shows='"seen"'),
        post("hooks/validating", f"{_HOOKS}/validatingwebhookconfigurations",
             manifest(_API, "ValidatingWebhookConfiguration", "hooks", webhooks=[*validating, last])),
        post("hooks/validating in force", f"{_CONFIGS}?dryRun=All", _labelled(MARKER), until=403),
    ]  # fmt: skip


def _labelled(hook: str, name: str = "", **labels: str) -> Obj:
    return config(name or hook, labels={"hook": hook, **labels})


def _scaler() -> Obj:
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    return manifest(
        "autoscaling/v2", "HorizontalPodAutoscaler", "scaler", spec={"scaleTargetRef": target, "maxReplicas": 3}
    )


def steps(webhook: Webhook) -> list[Step]:
    """Return the requests; the webhook is running."""
    refused = ("deny", "silent", "teapot", "other", "patching", "broken", "stuck", "undecided", "nobody")
    broken = ("number", "nowhere", "untyped", "garbled")
    pod = manifest("v1", "Pod", "p", spec=template("p")["spec"])
    binding = manifest("v1", "Binding", "p", target={"kind": "Node", "name": "n1"})
    eviction = manifest("policy/v1", "Eviction", "p")
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 700}}
    return [
        *namespace("hooks"),
        post("hooks/a deployment", "/apis/apps/v1/namespaces/hooks/deployments", deployment("web")),
        post("hooks/a pod", f"{_CORE}/pods", pod),
        *_configured(webhook),
        *(post(f"hooks/refused: {one}", _CONFIGS, _labelled(one)) for one in (*refused, *broken)),
        post("hooks/an unknown field", _CONFIGS, _labelled("unknown")),
        post("hooks/warned", _CONFIGS, _labelled("warn")),
        post("hooks/ignored", _CONFIGS, _labelled("ignored")),
        post("hooks/conditional", _CONFIGS, _labelled("conditional")),
        post("hooks/chosen", _CONFIGS, _labelled("conditional", "chosen")),
        post("hooks/patched", _CONFIGS, _labelled("patch")),
        post("hooks/patched, not kept", f"{_CONFIGS}?dryRun=All&fieldManager=me", _labelled("patch", "dry")),
        merge("hooks/changed", f"{_CONFIGS}/patch", {"data": {"a": "2"}}),
        put("hooks/replaced", f"{_CONFIGS}/patch", _labelled("patch")),
        delete("hooks/deleted", f"{_CONFIGS}/patch", {"gracePeriodSeconds": 5, "propagationPolicy": "Background"}),
        post("hooks/asked twice", _CONFIGS, _labelled("", "twice", twice="yes")),
        post("hooks/another version", _SCALERS, _scaler()),
        merge("hooks/rescaled", f"{_WEB}/scale", {"spec": {"replicas": 3}}),
        post("hooks/a command", f"{_CORE}/pods/p/exec?command=ls&command=-l&stdout=true", None),
        post("hooks/bound", f"{_CORE}/pods/p/binding", binding),
        post("hooks/a token", f"{_CORE}/serviceaccounts/default/token", token),
        post("hooks/evicted", f"{_CORE}/pods/p/eviction", eviction),
        delete("hooks/all deleted", f"{_CONFIGS}?labelSelector=hook=warn"),
        delete("hooks/no more mutating", f"{_HOOKS}/mutatingwebhookconfigurations/hooks"),
        delete("hooks/no more validating", f"{_HOOKS}/validatingwebhookconfigurations/hooks"),
    ]
