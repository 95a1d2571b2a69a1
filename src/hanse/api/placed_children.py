"""`PlacedChild` of hanse.dev/v1alpha1: what a lambda controller keeps of one child in other clusters.

One PlacedChild is one object of one parent, in all the clusters that shall have it: by kind and key an object is one
for the engine, and what several sources said of it would have to be settled between them. Clusters that shall have the
same share a template. Those that shall have it no longer stay named until the PlacedChild goes, or they get it again:
so it is known where copies can be, however long such a cluster cannot be asked. A PlacedChild of a Secret is as secret
as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.kube.manifest import Key, Obj
from hanse.kube.patches.differences import digest
from hanse.kube.resources import Resource

PLACED_CHILDREN = Resource("hanse.dev", "v1alpha1", "placedchildren", "PlacedChild")
# On a child that a hook returns: the cluster that it is for, or a label selector of clusters, each of which gets one.
CLUSTER_ANNOTATION = "hanse.dev/cluster"
CLUSTERS_ANNOTATION = "hanse.dev/clusters"
# On an observed child: why its cluster cannot be asked. The rest of it is then as it was last seen, or was asked for.
LOST_ANNOTATION = "hanse.dev/cluster-lost"

_ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXTS = {"type": "array", "items": text(minLength=1)}
_KIND = {"group": text(), "version": text(), "plural": text(), "kind": text(), "namespaced": {"type": "boolean"}}
_VERSION = record(
    {
        "clusters": {**_TEXTS, "minItems": 1, "description": "The clusters that shall have it so"},
        "digest": text(description="A digest of what was asked for"),
        "template": {**_ANYTHING, "description": "What these clusters get"},
    },
    required=["clusters", "digest", "template"],
)
_LEAVING = record(
    {"cluster": text(minLength=1), "since": text()},
    "A cluster that shall have it no longer, and may have it still",
    required=["cluster", "since"],
)
_AUTHOR = record({"user": text(minLength=1), "groups": _TEXTS}, "Who wrote the parent", required=["user"])

PLACED_CHILD_CRD = definition(
    PLACED_CHILDREN,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object"},
            "spec": record(
                {
                    "resource": record(_KIND, "The kind of the child", required=["version", "plural", "kind"]),
                    "name": text(minLength=1),
                    "namespace": text(),
                    "versions": {"type": "array", "items": _VERSION},
                    "leaving": {"type": "array", "items": _LEAVING},
                    "author": _AUTHOR,
                },
                required=["resource", "name"],
            ),
        },
        "One child of a lambda controller's parent, in the clusters that shall have it.",
        required=["spec"],
    ),
    [
        column("Kind", "string", ".spec.resource.kind"),
        column("Object", "string", ".spec.name"),
        column("Parent", "string", ".metadata.ownerReferences[0].name"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
)


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote a parent, as admission knew them."""

    user: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """What some clusters get, and a digest of what was asked for."""

    digest: str
    manifest: Obj


@dataclass(frozen=True, slots=True)
class PlacedChild:
    """A PlacedChild as it is read: which object, what each cluster gets, and since when others shall have none."""

    resource: Resource
    key: Key
    templates: Mapping[str, Template] = field(default_factory=dict)
    leaving: Mapping[str, str] = field(default_factory=dict)
    author: Author | None = None

    @property
    def clusters(self) -> tuple[str, ...]:
        """Every cluster that has it or may have it, in order."""
        return tuple(sorted({*self.templates, *self.leaving}))

    def present_in(self, cluster: str, manifest: Obj) -> PlacedChild:
        """Return what is asked for once a cluster shall have this."""
        leaving = {name: since for name, since in self.leaving.items() if name != cluster}
        templates = {**self.templates, cluster: Template(digest(manifest), manifest)}
        return replace(self, templates=templates, leaving=leaving)

    def absent_in(self, cluster: str, since: str) -> PlacedChild:
        """Return what is asked for once a cluster shall have none."""
        templates = {name: each for name, each in self.templates.items() if name != cluster}
        return replace(self, templates=templates, leaving={cluster: since, **self.leaving})

    def within(self, registered: Mapping[str, Any]) -> PlacedChild:
        """Return what is asked for without waiting for clusters that are gone from the federation."""
        leaving = {name: since for name, since in self.leaving.items() if name in registered}
        return replace(self, leaving=leaving) if len(leaving) != len(self.leaving) else self


def parse_placed_child(obj: Obj) -> PlacedChild:
    """Read a PlacedChild."""
    spec = obj["spec"]
    kind, author = spec["resource"], spec.get("author")
    resource = Resource(
        kind.get("group") or "",
        kind["version"],
        kind["plural"],
        kind["kind"],
        namespaced=bool(kind.get("namespaced", True)),
    )
    return PlacedChild(
        resource,
        Key(spec.get("namespace") or "", spec["name"]),
        {
            cluster: Template(version["digest"], version["template"])
            for version in spec.get("versions") or ()
            for cluster in version["clusters"]
        },
        {entry["cluster"]: entry["since"] for entry in spec.get("leaving") or ()},
        Author(author["user"], tuple(author.get("groups") or ())) if author else None,
    )


def placed_child_spec(placed: PlacedChild) -> Obj:
    """Return the spec of a PlacedChild; the same for the same wishes, whatever led to them."""
    resource, versions = placed.resource, dict[str, Obj]()
    for cluster in sorted(placed.templates):
        template = placed.templates[cluster]
        new = {"clusters": [], "digest": template.digest, "template": template.manifest}
        versions.setdefault(template.digest, new)["clusters"].append(cluster)
    spec: Obj = {
        "resource": {
            "group": resource.group,
            "version": resource.version,
            "plural": resource.plural,
            "kind": resource.kind,
            "namespaced": resource.namespaced,
        },
        "name": placed.key.name,
        "versions": list(versions.values()),
    }
    if placed.key.namespace:
        spec["namespace"] = placed.key.namespace
    if placed.leaving:
        spec["leaving"] = [{"cluster": name, "since": since} for name, since in sorted(placed.leaving.items())]
    if placed.author is not None:
        spec["author"] = {"user": placed.author.user, "groups": list(placed.author.groups)}
    return spec
