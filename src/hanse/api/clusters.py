"""`Cluster` of clusterregistry.k8s.io/v1alpha1: a member of the federation, read into a plain value.

Cluster-scoped here, with a status of Hanse's own. Credentials are never in it: `spec.authInfo.controller` points to a
Secret. Its schema is in `cluster_kind`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, labels_of, name_of
from hanse.kube.resources import Resource

CLUSTERS = Resource("clusterregistry.k8s.io", "v1alpha1", "clusters", "Cluster", namespaced=False)

# On a Cluster whose Secret holds a kubeconfig under another key, or wants another context of it than the current one.
CREDENTIALS_KEY_ANNOTATION = "hanse.dev/credentials-key"
CREDENTIALS_CONTEXT_ANNOTATION = "hanse.dev/credentials-context"
# On a Cluster whose server's certificate is not checked, and on one that is reached through a proxy.
INSECURE_ANNOTATION = "hanse.dev/insecure-skip-tls-verify"
PROXY_ANNOTATION = "hanse.dev/proxy-url"
# On a Cluster that is not reached by Hanse but fetches its work itself, by an agent: "pull".
MODE_ANNOTATION = "hanse.dev/mode"
PULL = "pull"
# On a Cluster of whose own objects some are acted on: the doors that are open in it, separated by commas.
DOORS_ANNOTATION = "hanse.dev/doors"
# On a Cluster whose ingress controller shares its uid with those of others: that uid, as federation v1 noted it.
INGRESS_UID_ANNOTATION = "kubernetes.io/ingress.uid"
# On a Cluster beside such ones: "own" says that its ingress controller keeps to itself; "shared", by a person, that it
# shall share the uid although the cluster has Ingresses of its own.
INGRESS_ANNOTATION = "hanse.dev/ingress"
OWN_INGRESS, SHARED_INGRESS = "own", "shared"
# On a Cluster, for applications that choose among those of a region: what it is capable of, separated by commas; how
# much it is preferred to others (100 where nothing is said); and what stands for its name in that choice.
CAPABILITIES_ANNOTATION = "hanse.dev/capabilities"
ROLLOUT_WEIGHT_ANNOTATION = "hanse.dev/rollout-weight"
ROLLOUT_IDENTITY_ANNOTATION = "hanse.dev/rollout-identity"
ROLLOUT_ANNOTATIONS = (CAPABILITIES_ANNOTATION, ROLLOUT_WEIGHT_ANNOTATION, ROLLOUT_IDENTITY_ANNOTATION)
DEFAULT_ROLLOUT_WEIGHT = 100
# Every client, of either family: what an address is meant for when nothing is said.
EVERYONE = "0.0.0.0/0"


@dataclass(frozen=True, slots=True)
class Address:
    """One way to a member's API server, and the clients that it is meant for."""

    server: str
    client_cidr: str = ""


@dataclass(frozen=True, slots=True)
class Taint:
    """Something that keeps away from a member all that does not tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"
    time_added: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the registry says about a member."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    server: str = ""
    credentials: Key | None = None
    ready: bool = False
    offline: bool = False
    why: str = ""
    uid: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()
    ca_bundle: str = ""
    credentials_key: str = ""
    credentials_context: str = ""
    insecure: bool = False
    proxy_url: str = ""
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    version: str = ""
    nodes: int = 0
    capacity: dict[str, str] = field(default_factory=dict)
    free: dict[str, str] = field(default_factory=dict)
    leaving: bool = False
    refused_since: str = ""
    created: str = ""
    pull: bool = False
    ingress_uid: str = ""
    own_ingress: bool = False
    capabilities: frozenset[str] = frozenset()
    rollout_weight: int = DEFAULT_ROLLOUT_WEIGHT
    rollout_identity: str = ""

    @property
    def refusal(self) -> str:
        """Why no work may be placed there now; "" where it may."""
        if self.ready and not self.offline:
            return ""
        state = "offline" if self.offline else "not ready"
        return f"it is {state}: {self.why}" if self.why else f"it is {state}"

    @property
    def state(self) -> str:
        """The one word that tables show: Ready, NotReady or Offline."""
        return "Ready" if not self.refusal else "Offline" if self.offline else "NotReady"

    @property
    def was_reached(self) -> bool:
        """Whether its API server has ever answered."""
        return self.ready or bool(self.version or self.uid)


def parse_cluster(obj: Obj) -> Cluster:
    """Read a Cluster object."""
    endpoints = dig(obj, "spec", "kubernetesApiEndpoints", "serverEndpoints", default=[])
    secret = dig(obj, "spec", "authInfo", "controller", default={})
    conditions = dig(obj, "status", "conditions", default=[])
    addresses = tuple(
        Address(with_scheme(entry["serverAddress"]), entry.get("clientCIDR") or "")
        for entry in endpoints
        if entry.get("serverAddress")
    )
    credentials = None
    if secret.get("name"):
        credentials = Key(secret.get("namespace") or SYSTEM_NAMESPACE, secret["name"])
    return Cluster(
        name=name_of(obj),
        labels=dict(labels_of(obj)),
        server=addresses[0].server if addresses else "",
        credentials=credentials,
        ready=is_true(conditions, "Ready"),
        offline=is_true(conditions, "Offline"),
        why=(find_condition(conditions, "Ready") or {}).get("message", ""),
        uid=dig(obj, "status", "clusterUID", default=""),
        region=dig(obj, "status", "region", default=""),
        zones=tuple(dig(obj, "status", "zones", default=())),
        addresses=addresses,
        ca_bundle=dig(obj, "spec", "kubernetesApiEndpoints", "caBundle", default=""),
        credentials_key=annotations_of(obj).get(CREDENTIALS_KEY_ANNOTATION, ""),
        credentials_context=annotations_of(obj).get(CREDENTIALS_CONTEXT_ANNOTATION, ""),
        insecure=annotations_of(obj).get(INSECURE_ANNOTATION) == "true",
        proxy_url=annotations_of(obj).get(PROXY_ANNOTATION, ""),
        unschedulable=bool(dig(obj, "spec", "unschedulable", default=False)),
        taints=tuple(map(_taint, dig(obj, "spec", "taints", default=()))),
        version=dig(obj, "status", "version", default=""),
        nodes=dig(obj, "status", "nodes", default=0),
        capacity=dict(dig(obj, "status", "capacity", default={})),
        free=dict(dig(obj, "status", "free", default={})),
        leaving=is_deleting(obj),
        refused_since=(find_condition(conditions, "Ready") or {}).get("lastTransitionTime") or "",
        created=dig(obj, "metadata", "creationTimestamp", default=""),
        pull=annotations_of(obj).get(MODE_ANNOTATION) == PULL,
        ingress_uid=annotations_of(obj).get(INGRESS_UID_ANNOTATION, ""),
        own_ingress=annotations_of(obj).get(INGRESS_ANNOTATION) == OWN_INGRESS,
        capabilities=frozenset(words_of(annotations_of(obj).get(CAPABILITIES_ANNOTATION, ""))),
        rollout_weight=_weight(annotations_of(obj).get(ROLLOUT_WEIGHT_ANNOTATION, "")),
        rollout_identity=annotations_of(obj).get(ROLLOUT_IDENTITY_ANNOTATION, ""),
    )


def words_of(text: str) -> tuple[str, ...]:
    """Read a list that is separated by commas; each word once, in the order in which they come."""
    return tuple(dict.fromkeys(word for each in text.split(",") if (word := each.strip())))


def with_scheme(address: str) -> str:
    """Return an API server's address as a URL; https where it names no scheme."""
    return address if "://" in address else f"https://{address}"


def cluster_manifest(
    name: str, *, server: str, ca_bundle: str, secret: Key, labels: dict[str, str], others: tuple[Address, ...] = ()
) -> Obj:
    """Write a Cluster object; `ca_bundle` is base64, `others` are further addresses of the same API server."""
    endpoints: Obj = {
        "serverEndpoints": [
            {"clientCIDR": address.client_cidr or EVERYONE, "serverAddress": with_scheme(address.server)}
            for address in (Address(server), *others)
        ]
    }
    if ca_bundle:
        endpoints["caBundle"] = ca_bundle
    return {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "kubernetesApiEndpoints": endpoints,
            "authInfo": {"controller": {"kind": "Secret", "name": secret.name, "namespace": secret.namespace}},
        },
    }


def taint_manifest(taint: Taint) -> Obj:
    """Write a taint as `spec.taints` holds it."""
    fields = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {name: value for name, value in fields.items() if value}


def _taint(entry: Obj) -> Taint:
    return Taint(
        key=entry.get("key", ""),
        value=entry.get("value") or "",
        effect=entry.get("effect", "NoSchedule"),
        time_added=entry.get("timeAdded") or "",
    )


def _weight(text: str) -> int:
    # What is no number says nothing: a slip of the pen must not move applications.
    return int(text) if text.isascii() and text.isdigit() else DEFAULT_ROLLOUT_WEIGHT
