"""Children in other clusters into intents: each in exactly the clusters that its PlacedChild names, as it is there.

The copies have nothing to do with each other: one goes when its cluster is named no longer, whatever becomes of the
others. What each cluster was given is marked in the copy, so that whoever wrote the PlacedChild can tell when a wish
has arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.names import (
    ADOPT_ANNOTATION,
    AUTHOR_ANNOTATION,
    AUTHOR_GROUPS_ANNOTATION,
    SYSTEM_NAMESPACE,
    TEMPLATE_ANNOTATION,
)
from hanse.api.placed_children import PLACED_CHILDREN, PlacedChild, Template, parse_placed_child
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, annotations_of, controller_of, dig, namespace_of, uid_of
from hanse.kube.resources import Resource
from hanse.placement.ask import ClusterTerm, Duplicated, Failover, Override, Placement
from hanse.placement.candidate import Toleration
from hanse.propagation.door import Affected, Door, Farewell, Inputs
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.stored_form import as_stored, given_by_cluster

# Whoever names a cluster means it.
_EVERY_TAINT = (Toleration(operator="Exists"),)
_AT_ONCE = Failover(fail_back_after=0.0)


class CompositeDoor(Door):
    """Carries what lambda controllers on the federation want in other clusters into them."""

    def __init__(self, placed: Mapping[Key, Obj] | None = None) -> None:
        self._placed = placed if placed is not None else {}

    @property
    def name(self) -> str:
        """What people call the door of lambda controllers."""
        return "composites"

    @property
    def resources(self) -> Sequence[Resource]:
        """PlacedChildren alone."""
        return (PLACED_CHILDREN,)

    @property
    def any_kind(self) -> bool:
        """Say that children may be of any kind."""
        return True

    @property
    def inputs(self) -> Sequence[Resource]:
        """PlacedChildren themselves, which say what members hold of them."""
        return (PLACED_CHILDREN,)

    def informed(self, inputs: Inputs) -> CompositeDoor:
        """Return the door that knows these inputs."""
        return CompositeDoor(inputs[PLACED_CHILDREN])

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Say that no PlacedChild speaks of another one."""
        return Affected()

    def target(self, source: Ref) -> Ref:
        """Return what members hold of a PlacedChild; of one that is not known, nothing."""
        found = self._placed.get(source.key)
        placed = None if found is None else _read(found)
        return source if placed is None else Ref(placed.resource, placed.key)

    def farewell(self, source: Obj) -> Farewell | Problem:
        """Say that copies go with their parent, from the only clusters that can have any."""
        placed = _read(source)
        return Farewell(within=None if placed is None else frozenset(placed.clusters))

    def admits(self, source: Obj) -> bool:
        """Tell whether a PlacedChild can be read."""
        return _read(source) is not None

    def translate(self, source: Obj) -> Intent | Problem:
        """Put a child into the clusters that its PlacedChild names."""
        placed = parse_placed_child(source)
        versions = _versions(placed)
        first = versions[0][1] if versions else _bare(placed)
        return Intent(
            resource=placed.resource,
            key=placed.key,
            source_uid=uid_of(source),
            template=first,
            placement=Placement(
                clusters=ClusterTerm(names=tuple(sorted(placed.templates))),
                tolerations=_EVERY_TAINT,
                division=Duplicated(),
                failover=_AT_ONCE,
            ),
            overrides=tuple(
                Override(ClusterTerm(names=names), ({"op": "replace", "path": "", "value": wish},))
                for names, wish in versions[1:]
            ),
            sources=(f"{_parent(source)} has it in the clusters that its controller names",),
            retain=given_by_cluster(placed.resource, first),
            adopt=annotations_of(source).get(ADOPT_ANNOTATION) == "true",
            nowhere=True,
            apart=True,
            voices=_voices(source, placed),
            created=dig(source, "metadata", "creationTimestamp", default=""),
        )


def _read(source: Obj) -> PlacedChild | None:
    """Read a PlacedChild; one that was stored by a server that checked nothing may mean nothing.

    Whoever may write them in one namespace gets nothing into another by it, nor beside all of them.
    """
    try:
        placed = parse_placed_child(source)
    except (KeyError, TypeError, AttributeError):
        return None
    if namespace_of(source) != (placed.key.namespace or SYSTEM_NAMESPACE):
        return None
    return placed if all(_is_of(each.manifest, placed) for each in placed.templates.values()) else None


def _is_of(template: Obj, placed: PlacedChild) -> bool:
    """Tell whether a template is of the object that it is said to be of, and of no other."""
    kind = (template.get("apiVersion"), template.get("kind"))
    key = (dig(template, "metadata", "namespace", default=""), dig(template, "metadata", "name"))
    return kind == (placed.resource.api_version, placed.resource.kind) and key == tuple(placed.key)


def _bare(placed: PlacedChild) -> Obj:
    metadata = {"name": placed.key.name}
    if placed.key.namespace:
        metadata["namespace"] = placed.key.namespace
    return {"apiVersion": placed.resource.api_version, "kind": placed.resource.kind, "metadata": metadata}


def _versions(placed: PlacedChild) -> list[tuple[tuple[str, ...], Obj]]:
    """Return what clusters get, each version once, with the clusters that get it."""
    names: dict[str, list[str]] = {}
    for cluster, template in sorted(placed.templates.items()):
        names.setdefault(template.digest, []).append(cluster)
    return [(tuple(clusters), _marked(placed.templates[clusters[0]])) for clusters in names.values()]


def _marked(template: Template) -> Obj:
    manifest = as_stored(template.manifest)
    annotations = {**annotations_of(manifest), TEMPLATE_ANNOTATION: template.digest}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def _parent(source: Obj) -> str:
    owner = controller_of(source)
    return f"{owner['kind']} {owner['name']}" if owner is not None else "Somebody"


def _voices(source: Obj, placed: PlacedChild) -> tuple[Obj, ...]:
    """Return the parent as far as it is known here: by whom it was written."""
    owner = controller_of(source)
    if placed.author is None or owner is None:
        return ()
    author = {AUTHOR_ANNOTATION: placed.author.user, AUTHOR_GROUPS_ANNOTATION: "\n".join(placed.author.groups)}
    metadata = {"name": owner["name"], "annotations": author}
    return ({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "metadata": metadata},)
