"""Children as hooks return them, careless ones too: written once they must be as desired, or they are written for ever.

The same table is tried on the embedded API server and on a real one.
"""

from __future__ import annotations

import yaml

from hanse.composite.applying import as_applied, dry_run_difference, is_applied, mark, updated, with_last_applied
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import Conflict
from hanse.kube.manifest import Obj, name_of, namespace_of
from hanse.kube.patches.differences import Difference, differences
from hanse.kube.resources import Resource

_CAREFUL = """
apiVersion: v1
kind: Pod
metadata: {name: cat, namespace: default, labels: {app: cats}}
spec: {containers: [{name: cat, image: "cat:1"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cats, namespace: default}
spec:
  selector: {matchLabels: {app: cats}}
  template:
    metadata: {labels: {app: cats}}
    spec: {containers: [{name: cat, image: "cat:1", ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: cats, namespace: default}
spec: {selector: {app: cats}, ports: [{name: udp, port: 53, protocol: UDP}, {name: tcp, port: 53}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cats, namespace: default}
data: {a: b}
"""

_CARELESS = """
apiVersion: v1
kind: Pod
metadata: {name: zeros, namespace: default, creationTimestamp: null, labels: null, annotations: {}, uid: ""}
spec:
  hostNetwork: false
  nodeName: null
  nodeSelector: {}
  affinity: {}
  imagePullSecrets: []
  subdomain: ""
  tolerations: [{key: gpu, operator: Exists}]
  volumes: [{name: scratch, emptyDir: {sizeLimit: 1024Mi}}]
  containers:
  - name: cat
    image: "cat:1"
    args: []
    env: [{name: A, value: ""}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}]
    resources: {limits: {cpu: 1000m, memory: 2048Mi}, requests: {cpu: 0.5, memory: 1.5Gi}}
    volumeMounts: [{name: scratch, mountPath: /scratch, readOnly: false}]
    livenessProbe: {httpGet: {path: /, port: 80}}
    stdin: false
status: {}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: zeros, namespace: default, creationTimestamp: null}
spec:
  serviceName: ""
  replicas: 0
  selector: {matchLabels: {app: cats}}
  template:
    metadata: {labels: {app: cats}, creationTimestamp: null}
    spec: {containers: [{name: cat, image: "cat:1", resources: {}}], hostPID: false, priority: null}
  volumeClaimTemplates:
  - metadata: {name: data, creationTimestamp: null}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
  updateStrategy: {}
status: {replicas: 0}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: zeros, namespace: default}
spec:
  schedule: "0 0 * * *"
  suspend: false
  jobTemplate:
    metadata: {creationTimestamp: null}
    spec:
      template:
        metadata: {creationTimestamp: null}
        spec: {containers: [{name: cat, image: "cat:1"}], restartPolicy: Never, tolerations: [{operator: Exists}]}
---
apiVersion: v1
kind: Service
metadata: {name: zeros, namespace: default}
spec: {ports: [{port: 80, targetPort: 0, nodePort: 0}], selector: {app: cats}, clusterIP: "", externalName: ""}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: zeros, namespace: default}
spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: cats}}}], ports: [{port: 80}]}], egress: []}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: zeros, namespace: default}
rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: []}]
"""

CHILDREN: dict[str, Obj] = {
    f"{word} {manifest['kind']}": manifest
    for word, text in (("a careful", _CAREFUL), ("a careless", _CARELESS))
    for manifest in yaml.safe_load_all(text)
}


async def differences_after_merging(client: Client, child: Obj) -> list[Difference]:
    """Create a child, and then write it with one label more; return what still differs after each."""
    resource = await client.resource_of(child)
    created = await client.create(resource, with_last_applied(child))
    more = {**child, "metadata": {**child["metadata"], "labels": {"more": "x"}}}
    left = [*_left(created, child), *_left(await _merged(client, resource, more), more)]
    await client.delete(resource, name_of(child), namespace_of(child), grace_seconds=0)
    return left


async def _merged(client: Client, resource: Resource, child: Obj) -> Obj:
    while True:
        change = updated(await client.get(resource, name_of(child), namespace_of(child)), child)
        assert change is not None
        try:
            return await client.update(resource, change)
        except Conflict:
            # A scheduler has written in between.
            continue


def _left(live: Obj, child: Obj) -> list[Difference]:
    after = updated(live, child)
    return [] if after is None else list(differences(live, after))


async def differences_after_applying(client: Client, child: Obj) -> list[Difference]:
    """Let the server apply a child; return what a dry run would change, or what is not known to be applied."""
    resource = await client.resource_of(child)
    remembered = mark(child, await client.apply(resource, as_applied(child)))
    while True:
        seen = await client.get(resource, name_of(child), namespace_of(child))
        tried = await client.apply(resource, as_applied(child), options=WriteOptions(dry_run=True))
        differs = dry_run_difference(seen, tried)
        if not isinstance(differs, str):
            break  # else a scheduler has written in between
    assert is_applied(remembered, child, seen)
    await client.delete(resource, name_of(child), namespace_of(child), grace_seconds=0)
    return list(differences(seen, tried)) if differs else []
