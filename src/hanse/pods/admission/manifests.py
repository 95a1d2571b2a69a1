"""What a source's API server is told: whom to ask about elected pods and whole Jobs, and what to refuse by itself."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from hanse.api.admiralty.keys import ELECT, ENABLED, JOB_MANAGER, NAMESPACE_LABEL
from hanse.api.namespaces import SYSTEM_NAMESPACES, SYSTEM_PREFIXES
from hanse.kube.manifest import Key, Obj
from hanse.pods.admission.certificate_secret import CONFIGURATION_NAME, MUTATING_WEBHOOKS
from hanse.pods.admission.policies import chaperon_policies, pod_policies

PODS_PATH = "/admit/pods"
JOBS_PATH = "/admit/jobs"
# An answer takes a few milliseconds; who waits longer waits for one that does not come.
_TIMEOUT_SECONDS = 5
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_OUTSIDE = " && ".join(f"!request.namespace.startsWith('{prefix}')" for prefix in SYSTEM_PREFIXES)
_ELECTED = f"has(object.metadata.annotations) && '{ELECT}' in object.metadata.annotations"
_WHOLE = f"has(object.spec.managedBy) && object.spec.managedBy == '{JOB_MANAGER}'"


def admission_manifests(url_or_service: str | Key, ca_bundle: bytes, own: Sequence[str] = ()) -> list[Obj]:
    """Return what is installed in a source: the webhooks, and the policies with their bindings.

    The server is reached at a URL (`https://ADDRESS:PORT`) or as a Service on port 443. `ca_bundle` is PEM. `own` are
    the users as whom Hanse writes in this cluster, beside everything that runs in its own namespace.
    """
    return [webhook_configuration(url_or_service, ca_bundle), *pod_policies(own), *chaperon_policies(own)]


def webhook_configuration(url_or_service: str | Key, ca_bundle: bytes) -> Obj:
    """Return the webhooks: asked only about elected pods and whole Jobs in enabled namespaces, which fail without an
    answer; nothing else is ever held up."""
    return {
        "apiVersion": MUTATING_WEBHOOKS.api_version,
        "kind": MUTATING_WEBHOOKS.kind,
        "metadata": {"name": CONFIGURATION_NAME},
        "webhooks": [
            _webhook("elected.pods.hanse.dev", "", "pods", ("elected", _ELECTED), PODS_PATH, url_or_service, ca_bundle),
            _webhook("jobs.pods.hanse.dev", "batch", "jobs", ("whole", _WHOLE), JOBS_PATH, url_or_service, ca_bundle),
        ],
    }


def _webhook(
    name: str,
    group: str,
    plural: str,
    chosen: tuple[str, str],
    path: str,
    url_or_service: str | Key,
    ca_bundle: bytes,
) -> Obj:
    rule = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": [plural],
        "scope": "Namespaced",
    }
    return {
        "name": name,
        "clientConfig": _client(url_or_service, path, ca_bundle),
        "rules": [rule],
        "namespaceSelector": {
            "matchLabels": {NAMESPACE_LABEL: ENABLED},
            "matchExpressions": [{"key": _NAMESPACE_NAME, "operator": "NotIn", "values": list(SYSTEM_NAMESPACES)}],
        },
        "matchConditions": [
            {"name": "not-of-the-cluster-itself", "expression": _OUTSIDE},
            {"name": chosen[0], "expression": chosen[1]},
        ],
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": _TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
    }


def _client(url_or_service: str | Key, path: str, ca_bundle: bytes) -> Obj:
    trusted = {"caBundle": base64.b64encode(ca_bundle).decode()}
    if isinstance(url_or_service, str):
        return {"url": url_or_service.rstrip("/") + path, **trusted}
    service = {"namespace": url_or_service.namespace, "name": url_or_service.name, "port": 443, "path": path}
    return {"service": service, **trusted}
