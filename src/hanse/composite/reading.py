"""Reading controller objects: from a CompositeController, DecoratorController or MapController to what it asks for.

The same schema that servers are given is asked first, since an object may come from a file, or from a server that
was given another one; what it cannot say is checked here. All that is wrong is told at once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS, SHORT_NAME
from hanse.api.metacontroller.kinds import LONGEST_CONTROLLER_NAME
from hanse.composite.hook_reading import FieldProblem, Raw, check_endpoints, is_called, read_hook
from hanse.composite.spec import (
    EVERYTHING,
    ChildRule,
    ControllerSpec,
    Hooks,
    HookSpec,
    KindRef,
    Method,
    ParentRule,
    Rollout,
    Sort,
    SpecProblems,
    StatusCheck,
)
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.schemas import Schema, schema_from_crd
from hanse.kube.schemas.structural import drop_nulls, fill_defaults, validate
from hanse.kube.selectors import LabelSelector

NO_HOOKS = "say what is called: give sync, finalize or both"
NO_MAP = "say what is called: give map"
_SHORTEST_RESYNC_SECONDS = 1.0
# The functions of Python hooks have the hooks' names, as Python writes them.
_HOOKS = {
    "sync": "sync",
    "finalize": "finalize",
    "customize": "customize",
    "preUpdateChild": "pre_update_child",
    "postUpdateChild": "post_update_child",
    "map": "map",
    "tombstone": "tombstone",
}
_NEEDED = {
    Sort.COMPOSITE: (("sync", "finalize"), NO_HOOKS),
    Sort.DECORATOR: (("sync", "finalize"), NO_HOOKS),
    Sort.MAP: (("map",), NO_MAP),
}
_CHILDREN = {Sort.COMPOSITE: "childResources", Sort.DECORATOR: "attachments", Sort.MAP: "outputResources"}

_Rule = TypeVar("_Rule", ParentRule, ChildRule)


def read_controller(obj: Obj) -> ControllerSpec | SpecProblems:
    """Return what a controller object asks for, or everything that is wrong with it."""
    kind = obj.get("kind")
    if kind not in list(Sort):
        return SpecProblems((f"kind: {kind!r} is none of {', '.join(Sort)}",))
    sort = Sort(kind)
    given, problems = _in_form(obj, sort)
    if problems:
        return SpecProblems(tuple(problems))
    spec = _Reading(sort, given)
    read = spec.read()
    return SpecProblems(tuple(spec.problems)) if spec.problems else read


def _in_form(obj: Obj, sort: Sort) -> tuple[Obj, list[str]]:
    schema = _schema(sort)
    # What is read may lie in a cache: defaults go into a copy.
    given: Obj = {"metadata": {"name": dig(obj, "metadata", "name")}, "spec": copy.deepcopy(obj.get("spec"))}
    drop_nulls(schema, given)
    fill_defaults(schema, given)
    problems = [str(error) for error in validate(schema, given)]
    if not dig(given, "metadata", "name"):
        problems.append("metadata.name: Required value")
    return given, problems


@cache
def _schema(sort: Sort) -> Schema:
    crd = next(crd for crd in METACONTROLLER_CRDS if crd["spec"]["names"]["kind"] == sort)
    return schema_from_crd(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


class _Reading:
    """Goes through one object whose form is right, and gathers what is wrong with it."""

    def __init__(self, sort: Sort, obj: Obj) -> None:
        self._sort = sort
        self._name = name_of(obj)
        self._spec: Obj = obj["spec"]
        self.problems: list[str] = []

    def read(self) -> ControllerSpec:
        if len(self._name) > LONGEST_CONTROLLER_NAME:
            self.problems.append(SHORT_NAME)
        spec = self._spec
        resync = spec.get("resyncPeriodSeconds")
        return ControllerSpec(
            sort=self._sort,
            name=self._name,
            parents=self._parents(),
            children=self._once(_CHILDREN[self._sort], _child_rule),
            hooks=self._hooks(),
            inputs=self._once("inputResources", self._parent_rule),
            revision_paths=self._revision_paths(),
            generate_selector=bool(spec.get("generateSelector")),
            resync_seconds=None if resync is None else max(float(resync), _SHORTEST_RESYNC_SECONDS),
            server_side=spec.get("applyStrategy") == "ServerSideApply",
        )

    def _parents(self) -> tuple[ParentRule, ...]:
        if self._sort is not Sort.DECORATOR:
            return (self._parent_rule(self._spec["parentResource"], "spec.parentResource"),)
        found = self._once("resources", self._parent_rule)
        if not found:
            self.problems.append("spec.resources: name at least one kind")
        return found

    def _once(self, field: str, read: Callable[[Raw, str], _Rule]) -> tuple[_Rule, ...]:
        """Read a list of kinds; one that is there twice must be the same twice."""
        found: dict[KindRef, _Rule] = {}
        for index, raw in enumerate(self._spec.get(field) or ()):
            rule = read(raw, f"spec.{field}[{index}]")
            if found.setdefault(rule.kind, rule) != rule:
                self.problems.append(
                    f"spec.{field}[{index}]: {rule.kind} is named before, with other settings; keep one"
                )
        return tuple(found.values())

    def _parent_rule(self, raw: Raw, path: str) -> ParentRule:
        # Annotations are selected as labels are, but for the name of one field.
        annotations = raw.get("annotationSelector")
        if annotations is not None:
            annotations = {**annotations, "matchLabels": annotations.get("matchAnnotations")}
        return ParentRule(
            kind=_kind(raw),
            labels=self._selector(raw.get("labelSelector"), f"{path}.labelSelector"),
            annotations=self._selector(annotations, f"{path}.annotationSelector"),
            ignore_status_changes=bool(raw.get("ignoreStatusChanges")),
        )

    def _selector(self, raw: Raw | None, path: str) -> LabelSelector:
        try:
            return EVERYTHING if raw is None else LabelSelector.from_object(raw)
        except ValueError as error:
            self.problems.append(f"{path}: {error}")
            return EVERYTHING

    def _revision_paths(self) -> tuple[tuple[str, ...], ...]:
        paths = dig(self._spec, "parentResource", "revisionHistory", "fieldPaths") or ["spec"]
        read = [tuple(path.split(".")) for path in paths]
        for index, steps in enumerate(read):
            where = f"spec.parentResource.revisionHistory.fieldPaths[{index}]"
            if not all(steps):
                self.problems.append(f'{where}: "{paths[index]}" is no path; write for example spec.template')
        return tuple(read)

    def _hooks(self) -> Hooks:
        endpoints: Sequence[Raw] = self._spec.get("endpointConfigs") or ()
        self.problems += check_endpoints(endpoints, "spec.endpointConfigs")
        raw: Mapping[str, Any] = self._spec.get("hooks") or {}
        read = {function: self._hook(raw, field, function, endpoints) for field, function in _HOOKS.items()}
        needed, sentence = _NEEDED[self._sort]
        if not any(is_called(raw.get(field)) for field in needed):
            self.problems.append(f"spec.hooks: {sentence}")
        return Hooks(**read)

    def _hook(self, raw: Raw, field: str, function: str, endpoints: Sequence[Raw]) -> HookSpec | None:
        try:
            return read_hook(raw.get(field), f"spec.hooks.{field}", endpoints, function)
        except FieldProblem as problem:
            self.problems.append(str(problem))
            return None


def _kind(raw: Raw) -> KindRef:
    return KindRef(raw["apiVersion"], raw["resource"])


def _child_rule(raw: Raw, _path: str) -> ChildRule:
    strategy: Raw = raw.get("updateStrategy") or {}
    checks: Iterable[Raw] = dig(strategy, "statusChecks", "conditions") or ()
    return ChildRule(
        kind=_kind(raw),
        method=Method(strategy.get("method") or Method.ON_DELETE),
        checks=tuple(StatusCheck(each["type"], each.get("status"), each.get("reason")) for each in checks),
        rollout=_rollout(strategy.get("rollout") or {}),
    )


def _rollout(raw: Raw) -> Rollout:
    seconds = raw.get("failAfterSeconds")
    return Rollout(
        max_unavailable=raw.get("maxUnavailable", 1),
        partition=raw.get("partition", 0),
        paused=bool(raw.get("paused")),
        by_cluster=bool(raw.get("byCluster")),
        fail_after=None if seconds is None else float(seconds),
    )
