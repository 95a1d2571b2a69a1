"""The kinds of an API: how each is called and where it lives in the URL space."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.kube.manifest import Obj


@dataclass(frozen=True, slots=True)
class Resource:
    """One served kind, in one version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    verbs: frozenset[str] = field(default=frozenset(), compare=False)
    subresources: frozenset[str] = field(default=frozenset(), compare=False)
    short_names: tuple[str, ...] = field(default=(), compare=False)
    singular: str = field(default="", compare=False)
    categories: tuple[str, ...] = field(default=(), compare=False)
    _hash: int = field(default=0, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Kinds are in the keys of every queue and cache: the hash is taken far more often than kinds are made.
        object.__setattr__(self, "_hash", hash((self.group, self.version, self.plural)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def api_version(self) -> str:
        """The apiVersion that manifests of this kind carry."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """The kind with its group, as messages name it: `Deployment.apps`, `Service`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def group_resource(self) -> str:
        """The plural with its group, as messages name it: `deployments.apps`, `services`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, of one object, or of its subresource."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def name_kind(self, obj: Obj) -> Obj:
        """Give an object out of a list its kind, which lists leave out and metadata-only answers replace."""
        if obj.get("kind") in (None, "PartialObjectMetadata"):
            obj["apiVersion"], obj["kind"] = self.api_version, self.kind
        return obj


def gvk(obj: Obj) -> tuple[str, str, str]:
    """Return the group, version and kind that a manifest names."""
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    return group, version, str(obj.get("kind") or "")


# The kinds that Hanse's own rooms use by name; every other kind is found by discovery.
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
SERVICES = Resource("", "v1", "services", "Service")
ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("", "v1", "events", "Event")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICASETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
