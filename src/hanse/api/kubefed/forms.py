"""The five forms that KubeFed's API had, as values: what its kinds are called in each, and how they are written.

| form | releases | written as |
|---|---|---|
| A | v0.0.1 – v0.0.3 | template, placement and override are three objects; an override sets one known field |
| B | v0.0.4, v0.0.5 | three objects for any kind; an override names a path with dots |
| C | v0.0.6 – v0.0.10 | one object, `placement.clusterNames`, paths with dots |
| D0 | v0.1.0-rc1 – rc4 | one object, `placement.clusters`, paths with dots or JSON pointers |
| D | v0.1.0-rc5 – v0.10.0 | one object, `placement.clusters`, JSON patch operations |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from hanse.api.plain_kinds import INGRESSES, JOBS
from hanse.kube.resources import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    REPLICASETS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)


class OverrideStyle(Enum):
    """How an override says which field it changes."""

    FIELD = "the one field that the kind lets differ"
    DOTTED = "field names with dots between them"
    EITHER = "field names with dots between them, or a JSON pointer"
    POINTER = "a JSON pointer, with an operation"


@dataclass(frozen=True, slots=True)
class Form:
    """One form of the API, and the groups that belong to it."""

    name: str
    group: str
    """The group of the federated kinds themselves."""
    version: str
    three_objects: bool
    """Whether placement and overrides are objects of their own, of the same name as the template."""
    clusters_field: str
    """The field of a placement that lists clusters: names in `clusterNames`, records with a name in `clusters`."""
    selects: bool
    """Whether a placement may choose clusters by their labels."""
    overrides: OverrideStyle
    prefix: str
    """What labels, annotations and finalizers of the form begin with."""
    family: str
    """What the groups of its other kinds end with: `core.`, `scheduling.` and `multiclusterdns.` stand before it."""
    core_version: str
    """The version of FederatedTypeConfig and of the configuration."""
    system_namespace: str

    @property
    def core_group(self) -> str:
        """The group of FederatedTypeConfig, of clusters and of the configuration."""
        return f"core.{self.family}"

    @property
    def orphan_annotation(self) -> str:
        """The annotation that keeps copies in the members when their federated object is deleted."""
        return f"{self.prefix}/orphan"

    @property
    def managed_label(self) -> str:
        """The label on every object that was written into a member."""
        return f"{self.prefix}/managed"


FORM_A = Form(
    name="A",
    group="core.federation.k8s.io",
    version="v1alpha1",
    three_objects=True,
    clusters_field="clusterNames",
    selects=False,
    overrides=OverrideStyle.FIELD,
    prefix="federation.kubernetes.io",
    family="federation.k8s.io",
    core_version="v1alpha1",
    system_namespace="federation-system",
)
FORM_B = replace(FORM_A, name="B", group="primitives.federation.k8s.io", selects=True, overrides=OverrideStyle.DOTTED)
FORM_C = replace(FORM_B, name="C", group="types.federation.k8s.io", three_objects=False, prefix="federation.k8s.io")
FORM_D0 = replace(
    FORM_C,
    name="D0",
    group="types.kubefed.k8s.io",
    version="v1beta1",
    clusters_field="clusters",
    overrides=OverrideStyle.EITHER,
    prefix="kubefed.k8s.io",
    family="kubefed.k8s.io",
    core_version="v1beta1",
    system_namespace="kube-federation-system",
)
FORM_D = replace(
    FORM_D0,
    name="D",
    group="types.kubefed.io",
    overrides=OverrideStyle.POINTER,
    prefix="kubefed.io",
    family="kubefed.io",
)
# The newest first: a server that is asked for a kind by its bare name answers with the group that it was told of first.
FORMS = (FORM_D, FORM_D0, FORM_C, FORM_B, FORM_A)

# The groups of all of KubeFed's kinds: none of them is ever federated itself.
GROUPS = frozenset(
    {form.group for form in FORMS}
    | {f"{part}.{form.family}" for form in FORMS for part in ("core", "scheduling", "multiclusterdns")}
)

# What form A's overrides may set: the field's name in the override, which is the last step of its path in the target.
TYPED_OVERRIDES: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec", "replicas"),
    "ReplicaSet": ("spec", "replicas"),
    "Job": ("spec", "parallelism"),
    "ConfigMap": ("data",),
    "Secret": ("data",),
}


def _target(resource: Resource, *short: str) -> Resource:
    return replace(resource, short_names=short)


# The kinds that were federated without being enabled.
DEFAULT_TARGETS: tuple[Resource, ...] = (
    _target(NAMESPACES, "ns"),
    _target(CONFIGMAPS, "cm"),
    SECRETS,
    _target(SERVICE_ACCOUNTS, "sa"),
    _target(SERVICES, "svc"),
    _target(DEPLOYMENTS, "deploy"),
    _target(REPLICASETS, "rs"),
    JOBS,
    _target(INGRESSES, "ing"),
    CLUSTER_ROLES,
)


def default_targets(form: Form) -> tuple[Resource, ...]:
    """Return the kinds that a form federated without being asked."""
    if form.name == "A":
        return tuple(target for target in DEFAULT_TARGETS if target != CLUSTER_ROLES)
    return DEFAULT_TARGETS


def template_resource(form: Form, target: Resource) -> Resource:
    """Return the kind that holds the template; where it is three objects a Namespace is its own template."""
    if form.three_objects and target.kind == NAMESPACES.kind and not target.group:
        return target
    # Short names are for one form only, or kubectl would not know which is meant.
    short = tuple(f"f{name}" for name in target.short_names) if form.name == FORM_D.name else ()
    return Resource(
        form.group,
        form.version,
        f"federated{target.plural}",
        f"Federated{target.kind}",
        namespaced=_namespaced(target),
        short_names=short,
    )


def placement_resource(form: Form, target: Resource) -> Resource | None:
    """Return the kind that says in which clusters the template goes; None where the template itself does."""
    return _part(form, target, "Placement") if form.three_objects else None


def override_resource(form: Form, target: Resource) -> Resource | None:
    """Return the kind that says what differs from cluster to cluster; None where the template does, or nothing may."""
    if not form.three_objects or (form.overrides is OverrideStyle.FIELD and target.kind not in TYPED_OVERRIDES):
        return None
    return _part(form, target, "Override")


def chosen_form(group: str, version: str) -> Form:
    """Return the newest form with a group and version that somebody chose for their federated kinds."""
    return form_of(group, version) or replace(FORM_D, group=group, version=version)


def form_of(group: str, version: str = "") -> Form | None:
    """Return the form whose federated kinds are of a group; None for groups that people chose themselves."""
    return next((form for form in FORMS if form.group == group and version in ("", form.version)), None)


def _part(form: Form, target: Resource, part: str) -> Resource:
    kind = f"Federated{target.kind}{part}"
    return Resource(form.group, form.version, f"{kind.lower()}s", kind, namespaced=_namespaced(target))


def _namespaced(target: Resource) -> bool:
    # What federates a namespace lives in it, as whoever may write there decides about it.
    return target.namespaced or (target.kind == NAMESPACES.kind and not target.group)
