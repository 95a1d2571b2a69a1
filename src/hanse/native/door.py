"""Plain objects into intents, and reports into their own status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.names import DELETION_ANNOTATION, DEPLOYMENT_PREFERENCES_ANNOTATION, STATUS_ANNOTATION
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, key_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, Resource, gvk
from hanse.native.asking import asked_for
from hanse.native.kinds import DEFAULT_KINDS, is_federated
from hanse.native.template import template_of
from hanse.placement.policy import Policies, read_policies
from hanse.propagation.aggregation import aggregate
from hanse.propagation.intent import Intent, Problem
from hanse.propagation.report import Report


class NativeDoor:
    """Federates plain objects of the listed kinds."""

    def __init__(self, kinds: tuple[Resource, ...] = DEFAULT_KINDS, policies: Policies | None = None) -> None:
        self._kinds = kinds
        self._policies = policies or Policies()
        self._by_gvk = {(kind.group, kind.version, kind.kind): kind for kind in kinds}

    @property
    def resources(self) -> Sequence[Resource]:
        """The federated kinds."""
        return self._kinds

    @property
    def inputs(self) -> Sequence[Resource]:
        """The kinds of policies."""
        return (PLACEMENT_POLICIES, CLUSTER_PLACEMENT_POLICIES)

    def informed(self, inputs: Mapping[Resource, Sequence[Obj]]) -> NativeDoor:
        """Return the door that follows these policies."""
        return NativeDoor(self._kinds, read_policies(obj for resource in self.inputs for obj in inputs[resource]))

    def admits(self, source: Obj) -> bool:
        """Tell whether an object goes into the members."""
        return is_federated(source, self._kinds)

    def translate(self, source: Obj) -> Intent | Problem:
        """Read the object and its annotations."""
        resource = self._by_gvk[gvk(source)]
        divided = resource == DEPLOYMENTS
        asked = asked_for(source, self._policies, preferences=DEPLOYMENT_PREFERENCES_ANNOTATION if divided else "")
        if isinstance(asked, Problem):
            return asked
        deletion = annotations_of(source).get(DELETION_ANNOTATION)
        return Intent(
            resource=resource,
            key=key_of(source),
            source_uid=uid_of(source),
            template=template_of(source),
            placement=asked.placement,
            replicas=dig(source, "spec", "replicas", default=1) if divided else None,
            overrides=asked.overrides,
            sources=asked.sources,
            orphan=deletion == "orphan" or "orphan" in finalizers_of(source),
        )

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Put a report into the object's own status, or into the annotation of a kind that has no conditions."""
        resource = self._by_gvk[gvk(source)]
        result = dict(source)
        status = aggregate(resource, source, report, now)
        if status is not None:
            result["status"] = status
        return result if resource == DEPLOYMENTS else _annotated(result, report.trouble)

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Say in the object why it cannot be placed."""
        if self._by_gvk[gvk(source)] != DEPLOYMENTS:
            return _annotated(dict(source), problem.message)
        status = dict(source.get("status") or {})
        told = condition("Propagated", False, problem.reason, problem.message)
        before = status.get("conditions") or []
        merged = merge_conditions(before, [told], now)
        for entry in merged:
            entry.setdefault("lastUpdateTime", now)
        status["conditions"] = before if _same(before, merged) else merged
        return {**source, "status": status}


def _same(before: list[Obj], after: list[Obj]) -> bool:
    def bare(entries: list[Obj]) -> list[Obj]:
        return [{name: value for name, value in entry.items() if name != "lastUpdateTime"} for entry in entries]

    return bare(before) == bare(after)


def _annotated(obj: Obj, sentence: str) -> Obj:
    annotations = {name: value for name, value in annotations_of(obj).items() if name != STATUS_ANNOTATION}
    if sentence:
        annotations[STATUS_ANNOTATION] = sentence
    metadata = {name: value for name, value in obj["metadata"].items() if name != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata}
