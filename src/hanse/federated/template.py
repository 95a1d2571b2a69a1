"""What every chosen cluster gets of a federated object, and what of its template does not travel."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.patches.merge_patch import apply_merge_patch
from hanse.kube.resources import Resource
from hanse.propagation.intent import Problem
from hanse.propagation.scale import WORKLOAD, Path
from hanse.propagation.stored_form import given_by_cluster

# Where a pod keeps its containers, what makes pods, and what makes those.
_POD_SPECS: tuple[Path, ...] = ((), ("template", "spec"), ("jobTemplate", "spec", "template", "spec"))


@dataclass(frozen=True, slots=True)
class Template:
    """The manifest for every cluster, and warnings about what was left out of it."""

    manifest: Obj
    warnings: tuple[Problem, ...] = ()


def template_for(written: Obj, target: Resource, key: Key, *, label: str = "", own_version: bool = True) -> Template:
    """Make the manifest of a target kind out of a template.

    The object is called as the federated one is. With `own_version` the template may name the version of the kind.
    Every copy carries the `label`, and of the metadata only labels travel.
    """
    body: Obj = apply_merge_patch({}, {name: each for name, each in written.items() if name != "status"})
    metadata: Obj = {"name": key.name}
    if target.namespaced:
        metadata["namespace"] = key.namespace
    labels = {**dig(body, "metadata", "labels", default={}), **({label: "true"} if label else {})}
    if labels:
        metadata["labels"] = labels
    version = body.get("apiVersion") if own_version else None
    manifest = {**body, "apiVersion": version or target.api_version, "kind": target.kind, "metadata": metadata}
    return Template(manifest, _warnings(body))


def retained(target: Resource, manifest: Obj, *, replicas: bool) -> tuple[Path, ...]:
    """Return the fields in which clusters keep what they have, although the template says something about them.

    What a template is silent about is never touched: annotations and finalizers that others put there, addresses and
    node ports of Services, secrets of ServiceAccounts.
    """
    own = replicas and dig(manifest, *WORKLOAD.replicas) is not None
    return (*given_by_cluster(target, manifest), *((WORKLOAD.replicas,) if own else ()))


def runs_pods(manifest: Obj) -> bool:
    """Tell whether an object runs something, so that taints of clusters concern it."""
    return any(dig(manifest, "spec", *path, "containers") for path in _POD_SPECS)


def _warnings(body: Obj) -> tuple[Problem, ...]:
    found = []
    for field, reason in (("annotations", "AnnotationsNotSupported"), ("finalizers", "FinalizersNotSupported")):
        if dig(body, "metadata", field):
            advice = "; set it with an override of /metadata/annotations" if field == "annotations" else ""
            found.append(Problem(reason, f"spec.template.metadata.{field} is not carried into the clusters{advice}"))
    return tuple(found)
