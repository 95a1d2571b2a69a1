"""Controllers that any cluster must take as they are, and controllers that it must refuse with a field and a reason.

The same tables are tried on the embedded API server, on a real one, and where controllers are read.
"""

from __future__ import annotations

from typing import Any

import yaml

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS, SHORT_NAME
from hanse.api.metacontroller.hook_schemas import (
    AN_ADDRESS,
    NOT_BASIC,
    ONE_CA,
    ONE_CREDENTIAL,
    ONE_LIBRARY,
    ONE_PYTHON_SOURCE,
    ONE_SOURCE,
    ONE_WAY,
)
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import CRDS
from tests.behaviour.kubefed_forms import STRICT, Refused, until_listed

# Every field that Metacontroller has, spread over objects as people write them.
_UPSTREAM = """
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: catsets}
spec:
  parentResource:
    apiVersion: ctl.example.com/v1
    resource: catsets
    labelSelector: {matchLabels: {tier: web}, matchExpressions: [{key: old, operator: DoesNotExist}]}
    revisionHistory: {fieldPaths: [spec.template, spec.image]}
    ignoreStatusChanges: true
  childResources:
  - apiVersion: v1
    resource: pods
    updateStrategy:
      method: RollingRecreate
      statusChecks: {conditions: [{type: Ready, status: "True"}, {type: Mounted, reason: Done}]}
  - {apiVersion: v1, resource: persistentvolumeclaims}
  - {apiVersion: apps/v1, resource: statefulsets, updateStrategy: {method: RollingInPlace}}
  - {apiVersion: v1, resource: services, updateStrategy: {}}
  resyncPeriodSeconds: -5
  hooks:
    sync: {version: v1, webhook: {url: "http://catsets.hooks/sync"}}
    finalize: {version: v2, webhook: {url: "http://catsets.hooks/finalize", timeout: 1m30s}}
    customize: {version: v1, webhook: {url: "http://catsets.hooks/customize", timeout: 0s}}
    preUpdateChild: {version: v1, webhook: {url: "http://catsets.hooks/before"}}
    postUpdateChild: {version: v1, webhook: {url: "http://catsets.hooks/after"}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: by-service}
spec:
  generateSelector: true
  parentResource: {apiVersion: ctl.example.com/v1, resource: jobs}
  hooks:
    sync:
      version: v2
      webhook:
        service: {name: jobs, namespace: hooks, port: 8443, protocol: https}
        path: /sync
        timeout: 500ms
        responseUnMarshallMode: loose
        etag: {enabled: true, cacheTimeoutSeconds: 60, cacheCleanupSeconds: 120}
        caBundle: {secretRef: {name: ca, namespace: hooks, key: root.pem}}
        clientTLS: {secretRef: {name: us, namespace: hooks}, certKey: c.pem, privateKeyKey: k.pem}
        authorization: {type: Token, secretRef: {name: auth, namespace: hooks, key: token}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: by-endpoints}
spec:
  parentResource: {apiVersion: v1, resource: namespaces}
  endpointConfigs:
  - host: Secure.Hooks:443
    caBundle: {configMapRef: {name: ca, namespace: hooks, key: ca.crt}}
    clientTLS: {secretRef: {name: us, namespace: hooks}, certKey: tls.crt, privateKeyKey: tls.key}
    authorization: {type: Bearer, secretRef: {name: auth, namespace: hooks, key: token}}
  - host: plain.hooks
    caBundle: {inline: "-----BEGIN CERTIFICATE-----"}
    basicAuth: {secretRef: {name: basic, namespace: hooks}, usernameKey: username, passwordKey: password}
  hooks:
    sync: {version: v1, webhook: {url: "https://secure.hooks/sync"}}
    finalize: {version: v1, webhook: {url: "http://plain.hooks:80/finalize"}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: without-hooks}
spec: {parentResource: {apiVersion: v1, resource: namespaces}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: my-name-with-as-many-as-forty-three-letters}
spec:
  parentResource: {apiVersion: v1, resource: namespaces}
  hooks: {sync: {version: v1, webhook: {url: "http://a.b/c"}}, customize: {version: v1}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: service-per-pod}
spec:
  resources:
  - apiVersion: apps/v1
    resource: statefulsets
    labelSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}
    annotationSelector: {matchAnnotations: {wanted: "yes"}, matchExpressions: [{key: ports, operator: Exists}]}
    ignoreStatusChanges: true
  - {apiVersion: v1, resource: pods}
  attachments:
  - {apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}
  - {apiVersion: v1, resource: configmaps}
  - {apiVersion: v1, resource: secrets, updateStrategy: {method: RollingRecreate}}
  resyncPeriodSeconds: 3600
  hooks:
    sync: {version: v1, webhook: {url: "http://decorator.hooks/sync"}}
    finalize: {version: v1, webhook: {url: "http://decorator.hooks/finalize"}}
    customize: {version: v2, webhook: {url: "http://decorator.hooks/customize"}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {name: catsets.ctl.example.com-0a1b, namespace: default}
parentPatch: {spec: {template: {spec: {containers: [{name: c}]}}}}
children: [{apiGroup: "", kind: Pod, names: [web-0, web-1]}]
"""

_OURS = """
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: in-python}
spec:
  parentResource: {apiVersion: ctl.example.com/v1, resource: catsets}
  childResources:
  - apiVersion: v1
    resource: pods
    updateStrategy:
      method: RollingInPlace
      rollout: {maxUnavailable: 2, partition: 1, paused: true, byCluster: true, failAfterSeconds: 300}
  applyStrategy: ServerSideApply
  hooks:
    sync: {version: v2, python: {file: /hooks/sync.py, function: wanted, timeout: 2s, memory: 128Mi}}
    finalize: {version: v1, python: {configMap: {name: code, namespace: hooks, key: finalize.py}}}
    customize: {version: v1, python: {module: company.hooks, memory: 1000000}}
    preUpdateChild: {version: v1, python: {inline: "def pre_update_child(request): return {'ready': True}"}}
    postUpdateChild: {version: v1, jsonnet: {inline: "function(request) {ready: true}"}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: in-jsonnet}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  applyStrategy: DynamicApply
  hooks:
    sync:
      version: v1
      jsonnet:
        configMap: {name: code, namespace: hooks, key: sync.jsonnet}
        libraries: [{file: /hooks/lib}, {configMap: {name: libraries, namespace: hooks, key: k.libsonnet}}]
        timeout: 3s
        memory: 64Mi
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: for-every-node}
spec:
  parentResource:
    apiVersion: ctl.example.com/v1
    resource: nodejobs
    labelSelector: {matchLabels: {tier: web}}
    ignoreStatusChanges: true
  inputResources: [{apiVersion: v1, resource: nodes}]
  outputResources:
  - {apiVersion: batch/v1, resource: jobs, updateStrategy: {method: Recreate}}
  - {apiVersion: v1, resource: configmaps}
  resyncPeriodSeconds: 60
  applyStrategy: ServerSideApply
  hooks:
    map: {version: v2, jsonnet: {file: /hooks/map.jsonnet}}
    tombstone: {version: v1, webhook: {url: "https://map.hooks/tombstone"}}
"""


def _listed(text: str) -> dict[str, Obj]:
    return {f"{one['kind']} {one['metadata']['name']}": one for one in yaml.safe_load_all(text)}


UPSTREAM: dict[str, Obj] = _listed(_UPSTREAM)
ACCEPTED: dict[str, Obj] = {**UPSTREAM, **_listed(_OURS)}


def controller(kind: str, spec: Obj, name: str = "refused") -> Obj:
    """Return a controller object."""
    return {"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def composite(hooks: Obj | None = None, **fields: Any) -> Obj:
    """Return a CompositeController with these hooks; with a sync hook that is a webhook where none are named."""
    parent = {"apiVersion": "ctl.example.com/v1", "resource": "catsets"}
    hooks = {"sync": {"webhook": {"url": "http://a.b/c"}}} if hooks is None else hooks
    return controller("CompositeController", {"parentResource": parent, "hooks": hooks, **fields})


def by_webhook(**fields: Any) -> Obj:
    """Return a CompositeController whose sync hook is this webhook."""
    return composite({"sync": {"webhook": fields}})


_KEY = {"name": "s", "namespace": "n", "key": "k"}
_SECRET = {"name": "s", "namespace": "n"}
_AUTHORIZATION = {"secretRef": _KEY}
_BASIC = {"secretRef": _SECRET}
_WEBHOOK = "spec.hooks.sync.webhook"

# What the schemas' rules refuse; a server without them takes it, and then it is refused where it is read.
BROKEN_RULES: dict[str, Refused] = {
    "a long name": Refused(
        controller("CompositeController", composite()["spec"], "a" * 44), "CompositeController", SHORT_NAME
    ),
    "two ways to call": Refused(
        composite({"sync": {"webhook": {"url": "http://a.b"}, "python": {"file": "/a"}}}), "spec.hooks.sync", ONE_WAY
    ),
    "a webhook nowhere": Refused(by_webhook(timeout="1s"), _WEBHOOK, AN_ADDRESS),
    "a service without a path": Refused(by_webhook(service=_SECRET), _WEBHOOK, AN_ADDRESS),
    "55 both credentials": Refused(
        by_webhook(url="http://a.b", authorization=_AUTHORIZATION, basicAuth=_BASIC), _WEBHOOK, ONE_CREDENTIAL
    ),
    "55 both credentials of a host": Refused(
        composite(endpointConfigs=[{"host": "a.b", "authorization": _AUTHORIZATION, "basicAuth": _BASIC}]),
        "spec.endpointConfigs[0]",
        ONE_CREDENTIAL,
    ),
    "no code": Refused(composite({"sync": {"python": {"function": "f"}}}), "spec.hooks.sync.python", ONE_PYTHON_SOURCE),
    "two sources": Refused(
        composite({"sync": {"python": {"file": "/a", "module": "m"}}}), "spec.hooks.sync.python", ONE_PYTHON_SOURCE
    ),
    "no Jsonnet": Refused(composite({"sync": {"jsonnet": {}}}), "spec.hooks.sync.jsonnet", ONE_SOURCE),
}

# What servers take, and what is refused only where it is read.
UNREADABLE: dict[str, Refused] = {
    "basic by another name": Refused(
        by_webhook(url="http://a.b", authorization={"type": " BASIC ", "secretRef": _KEY}),
        f"{_WEBHOOK}.authorization.type",
        NOT_BASIC,
    ),
    "no authority": Refused(by_webhook(url="http://a.b", caBundle={}), f"{_WEBHOOK}.caBundle", ONE_CA),
    "two authorities": Refused(
        by_webhook(url="http://a.b", caBundle={"inline": "x", "secretRef": _SECRET}), f"{_WEBHOOK}.caBundle", ONE_CA
    ),
    "an empty library": Refused(
        composite({"sync": {"jsonnet": {"file": "/a", "libraries": [{}]}}}),
        "spec.hooks.sync.jsonnet.libraries[0]",
        ONE_LIBRARY,
    ),
}

# What does not have the form; the words are the server's.
BROKEN_FORMS: dict[str, Refused] = {
    "no parent": Refused(controller("CompositeController", {}), "spec.parentResource", "Required value"),
    "a parent without kind": Refused(
        controller("CompositeController", {"parentResource": {"apiVersion": "v1"}}),
        "spec.parentResource.resource",
        "Required value",
    ),
    "an unknown method": Refused(
        composite(childResources=[{"apiVersion": "v1", "resource": "pods", "updateStrategy": {"method": "Never"}}]),
        "spec.childResources[0].updateStrategy.method",
        'Unsupported value: "Never"',
    ),
    "an unknown version": Refused(
        composite({"sync": {"version": "v3", "webhook": {"url": "http://a.b"}}}),
        "spec.hooks.sync.version",
        'Unsupported value: "v3"',
    ),
    "a timeout in words": Refused(by_webhook(url="http://a.b", timeout="soon"), f"{_WEBHOOK}.timeout", "duration"),
    "nothing in flight": Refused(
        composite(
            childResources=[
                {"apiVersion": "v1", "resource": "pods", "updateStrategy": {"rollout": {"maxUnavailable": 0}}}
            ]
        ),
        "spec.childResources[0].updateStrategy.rollout.maxUnavailable",
        "greater than or equal to 1",
    ),
    "nothing decorated": Refused(controller("DecoratorController", {}), "spec.resources", "Required value"),
    "no inputs": Refused(
        controller(
            "MapController",
            {
                "parentResource": {"apiVersion": "v1", "resource": "nodes"},
                "inputResources": [],
                "outputResources": [{"apiVersion": "v1", "resource": "pods"}],
            },
        ),
        "spec.inputResources",
        "at least 1",
    ),
}

REFUSED: dict[str, Refused] = {**BROKEN_RULES, **BROKEN_FORMS}


async def serve_metacontroller(client: Client) -> None:
    """Give a cluster Metacontroller's kinds, and wait until it serves them."""
    for definition in METACONTROLLER_CRDS:
        await client.create(CRDS, definition, options=STRICT)
    await until_listed(client, {name_of(definition) for definition in METACONTROLLER_CRDS})
