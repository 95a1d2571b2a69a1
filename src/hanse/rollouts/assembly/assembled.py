"""From rendered manifests to what clusters get: checked, labelled, the Deployment at rest. Pure.

A rollout moves the replicas of one Deployment and the traffic of one Service; everything else is carried along. So the
manifests must have exactly these, named and labelled so that two releases of an application can stand side by side.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from hanse.api.shipper.kinds import OWNED_LABEL
from hanse.kube.manifest import Obj, dig, labels_of, name_of, namespace_of, uid_of
from hanse.rollouts.assembly.entrances import own_entrances
from hanse.rollouts.assembly.hooks import installed
from hanse.rollouts.assembly.scopes import Scopes
from hanse.rollouts.assembly.services import balanced_service, patch_service
from hanse.rollouts.assembly.shapes import demand_shape, mapping_in
from hanse.rollouts.sources.problem import CHART_ERROR, WRONG_DEPLOYMENTS, SourceProblem

ANCHOR_KEY = "InstallationTargetUID"
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class Assembled:
    """A release's manifests as the clusters get them, the anchor first, and what the rollout is about.

    A manifest of a custom kind whose definition is not among them has a namespace only if it was written with one.
    """

    pieces: tuple[Obj, ...]
    deployment: Obj
    # What a hundred percent are in one cluster; in `deployment` itself nothing is scaled up yet.
    replicas: int
    service: Obj
    digest: str


def assemble(manifests: Sequence[Obj], *, release: Obj, renames: bool) -> Assembled:
    """Return what clusters get of a release; raises SourceProblem where the manifests cannot be rolled out.

    `renames` puts the release's name before the Deployment's, which charts do by themselves.
    """
    try:
        return _assemble(manifests, release, renames=renames)
    except SourceProblem as problem:
        raise problem.of(_address(release)) from problem


def _assemble(manifests: Sequence[Obj], release: Obj, *, renames: bool) -> Assembled:
    for obj in manifests:
        demand_shape(obj)
    objects = [copy.deepcopy(obj) for obj in installed(manifests)]
    deployment = _only_deployment(objects, release)
    _refuse_autoscaler(objects, deployment)
    _name_deployment(deployment, release, renames=renames)
    _settle_namespaces(objects, release)
    _refuse_twins(objects)
    service = balanced_service(objects)
    objects += own_entrances(objects, service, release)
    labels = {**labels_of(release), OWNED_LABEL: name_of(release)}
    replicas = _rest(deployment, labels)
    for obj in objects:
        obj["metadata"]["labels"] = {**labels_of(obj), **labels}
    patch_service(service, release)
    pieces = (_anchor(release, labels), *objects)
    return Assembled(pieces, deployment, replicas, service, _digest(pieces, replicas))


def _only_deployment(objects: Sequence[Obj], release: Obj) -> Obj:
    found = [obj for obj in objects if obj.get("kind") == "Deployment"]
    if len(found) != 1:
        raise SourceProblem(
            WRONG_DEPLOYMENTS,
            f"{_origin(release)} should have exactly 1 Deployment object, but it has {len(found)}",
        )
    if found[0].get("apiVersion") != "apps/v1":
        raise SourceProblem(
            CHART_ERROR,
            f'Deployment "{name_of(found[0])}" has apiVersion {found[0].get("apiVersion")}; it must be apps/v1',
        )
    return found[0]


def _origin(release: Obj) -> str:
    chart = dig(release, "spec", "environment", "chart")
    return f"chart {chart.get('name')}-{chart.get('version')}" if chart else "the application's source"


def _address(release: Obj) -> str:
    """Return where the release's manifests are from."""
    environment = dig(release, "spec", "environment", default={})
    location = next((dig(environment, "source", kind, "location") for kind in environment.get("source") or ()), None)
    return str(dig(environment, "chart", "repoUrl") or location or "")


def _refuse_autoscaler(objects: Sequence[Obj], deployment: Obj) -> None:
    for obj in objects:
        target = dig(obj, "spec", "scaleTargetRef", default={})
        named = (target.get("kind"), target.get("name")) if isinstance(target, dict) else ()
        if obj.get("kind") == "HorizontalPodAutoscaler" and named == ("Deployment", name_of(deployment)):
            raise SourceProblem(
                CHART_ERROR,
                f'HorizontalPodAutoscaler "{name_of(obj)}" scales the Deployment "{name_of(deployment)}", whose '
                "replicas the rollout decides; take the autoscaler out and set replicas",
            )


def _name_deployment(deployment: Obj, release: Obj, *, renames: bool) -> None:
    name = name_of(deployment)
    if renames:
        name = deployment["metadata"]["name"] = f"{name_of(release)}-{name}"
    if name_of(release) not in name:
        raise SourceProblem(
            CHART_ERROR,
            f'Deployment "{name}" has invalid name. The name of the Deployment should be templated with '
            "{{.Release.Name}}.",
        )
    if len(name) > _LONGEST_NAME:
        raise SourceProblem(
            CHART_ERROR,
            f"the Deployment's name has {len(name)} characters with the release's before it; it must not have more "
            f"than {_LONGEST_NAME}",
        )


def _settle_namespaces(objects: Sequence[Obj], release: Obj) -> None:
    scopes = Scopes(objects)
    home = namespace_of(release)
    for obj in objects:
        namespaced = scopes.namespaced(obj)
        written = namespace_of(obj)
        if namespaced is False:
            obj["metadata"].pop("namespace", None)
        elif written not in ("", home):
            raise SourceProblem(
                CHART_ERROR,
                f'{obj.get("kind")} "{name_of(obj)}" is written for namespace "{written}"; everything of an '
                f'application is in its own namespace "{home}"',
            )
        elif namespaced:
            obj["metadata"]["namespace"] = home


def _refuse_twins(objects: Sequence[Obj]) -> None:
    seen: set[tuple[str, str, str]] = set()
    for obj in objects:
        group = str(obj.get("apiVersion") or "").rpartition("/")[0]
        identity = (group, str(obj.get("kind")), name_of(obj))
        if identity in seen:
            raise SourceProblem(CHART_ERROR, f'{obj.get("kind")} "{name_of(obj)}" is there twice; remove one of them')
        seen.add(identity)


def _rest(deployment: Obj, labels: Mapping[str, str]) -> int:
    """Set the Deployment to nothing, label what it selects, and return how many replicas it asked for."""
    label = f'Deployment "{name_of(deployment)}"'
    spec = mapping_in(deployment, "spec", of=label)
    asked = spec.get("replicas")
    replicas = 1 if asked is None else asked
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        raise SourceProblem(CHART_ERROR, f"{label}: spec.replicas is {asked!r}; it must be a number of pods")
    spec["replicas"] = 0
    selector = mapping_in(spec, "selector", of=label)
    mapping_in(selector, "matchLabels", of=label).update(labels)
    pod = mapping_in(mapping_in(spec, "template", of=label), "metadata", of=label)
    mapping_in(pod, "labels", of=label).update(labels)
    return replicas


def _anchor(release: Obj, labels: Mapping[str, str]) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{name_of(release)}-anchor",
            "namespace": namespace_of(release),
            "labels": dict(labels),
        },
        "data": {ANCHOR_KEY: uid_of(release)},
    }


def _digest(pieces: Sequence[Obj], replicas: int) -> str:
    written = orjson.dumps([replicas, *pieces], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(written).hexdigest()
