"""Federated objects of every form into intents, and reports into their status."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from hanse.api.kubefed.forms import FORMS, Form
from hanse.api.kubefed.preferences import PREFERENCES, TARGET_KINDS
from hanse.api.names import FEDERATE_ANNOTATION, SYSTEM_NAMESPACE
from hanse.federated.deletion import farewell_of
from hanse.federated.knowledge import Knowledge
from hanse.federated.placement import NAMESPACE_NOT_FEDERATED
from hanse.federated.records import records_of
from hanse.federated.reporting import refused_status, reported_status
from hanse.federated.translation import translate
from hanse.federated.types import ServedType, Types
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, namespace_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.propagation.aggregation import told_beside
from hanse.propagation.dependencies import NO_NEEDS, Needs
from hanse.propagation.door import NO_KIN, Affected, Farewell, Inputs, Kin, Mark
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.records import Record
from hanse.propagation.report import Report


class FederatedDoor:
    """Federates objects of KubeFed's default types, and of those that FederatedTypeConfigs enable."""

    def __init__(self, known: Knowledge | None = None, forms: tuple[Form, ...] = FORMS) -> None:
        """`forms` are those in which the host serves KubeFed's default types."""
        self._known = known or Knowledge(Types(forms=forms))
        self._inputs = self._known.kinds

    @property
    def name(self) -> str:
        """What people call the door of federated types."""
        return "federated"

    @property
    def resources(self) -> Sequence[Resource]:
        """The federated kinds, enabled or not."""
        return tuple(self._known.types.by_source)

    @property
    def any_kind(self) -> bool:
        """Say that members hold one kind of objects of each kind of sources."""
        return False

    @property
    def inputs(self) -> Sequence[Resource]:
        """Placements, overrides, preferences, namespaces, and what configures all of it."""
        return self._inputs

    def informed(self, inputs: Inputs) -> FederatedDoor:
        """Return the door that knows these inputs."""
        return FederatedDoor(self._known.informed(inputs))

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Return the objects that an input speaks of; a namespace that places nothing differently speaks of none."""
        types, key = self._known.types, change.key
        if resource in PREFERENCES:
            kinds = [each.source for each in types.by_source.values() if each.source.kind in TARGET_KINDS]
            return Affected(tuple(Ref(kind, key) for kind in kinds))
        if resource == NAMESPACES:
            own = Key(key.name, key.name)
            names = [each.source for each in types.namespaces.values() if each.source == each.placement]
            return Affected(tuple(Ref(kind, own) for kind in names))
        limits = next((each for each in types.namespaces.values() if each.source == resource), None)
        if limits is not None:
            same = _limit(limits, change.old) == _limit(limits, change.new)
            return Affected() if same else Affected((), key.namespace)
        parts = [each for each in types.by_source.values() if resource in (each.placement, each.override)]
        return Affected(tuple(Ref(each.source, key) for each in parts), everything=not parts)

    def target(self, source: Ref) -> Ref:
        """Return what members hold of a federated object."""
        served = self._known.types.by_source[source.resource]
        return Ref(served.target, served.target_key(source.key))

    def supersedes(self, source: Obj) -> bool:
        """Say that a federated namespace speaks for the namespace that it is in."""
        return self._served(source).is_namespace

    def kin(self, _source: Obj) -> Kin:
        """Say that no object is of another's family."""
        return NO_KIN

    def farewell(self, source: Obj) -> Farewell | Problem:
        """Say what becomes of the copies of an object that is being deleted."""
        return farewell_of(source, self._served(source).form)

    def admits(self, source: Obj) -> bool:
        """Tell whether an object is to be federated: its type propagates, and it is none of a cluster's own things."""
        served = self._served(source)
        if not served.propagates or self.lets_go(source):
            return False
        return not served.is_namespace or not _is_system(namespace_of(source), served)

    def lets_go(self, source: Obj) -> bool:
        """Tell whether an object or its type was taken out; one that is switched off leaves everything as it is."""
        return annotations_of(source).get(FEDERATE_ANNOTATION) == "false" or self._served(source).leaving

    def translate(self, source: Obj) -> Intent | Problem:
        """Read the object with all that speaks of it."""
        return translate(source, self._served(source), self._known)

    def shared(self, intent: Intent, _kin: Sequence[Obj]) -> Intent:
        """Say that nobody speaks for another."""
        return intent

    def needs(self, _source: Obj) -> Needs:
        """Say that what a template names is federated by itself, as its author wrote it."""
        return NO_NEEDS

    def parting(self, source: Obj, waiting_for: Collection[str]) -> Obj:
        """Return the object given: nothing in it depends on who has yet to let it go."""
        return source

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Put a report into the object's status."""
        served = self._served(source)
        if not served.has_status:
            return told_beside(source, report.trouble)
        remote = self._known.collects_status(served)
        missing = self._known.around(served, namespace_of(source)).missing
        reason = NAMESPACE_NOT_FEDERATED if missing else ""
        status = reported_status(source, report, now, remote=remote, reason=reason)
        return source if status is source.get("status") else {**source, "status": status}

    def records(self, source: Obj, report: Report, now: str) -> Iterator[Record]:
        """Yield what preferences and tools of KubeFed are to be told."""
        return records_of(source, report, self._served(source), self._known, now)

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Say in the object why nothing can be made of it."""
        if not self._served(source).has_status:
            return told_beside(source, problem.message)
        status = refused_status(source, problem, now)
        return source if status is source.get("status") else {**source, "status": status}

    def marks(self, _source: Obj, _report: Report | None) -> Mark | None:
        """Say that no other object has to know of this one."""
        return None

    def _served(self, source: Obj) -> ServedType:
        return self._known.types.of(source)


def _limit(served: ServedType, obj: Obj | None) -> object:
    """Return what a federated namespace says of its clusters."""
    path = ("spec",) if served.source == served.placement else ("spec", "placement")
    return None if obj is None else (dig(obj, *path), is_deleting(obj))


def _is_system(namespace: str, served: ServedType) -> bool:
    """Tell whether a namespace is every cluster's own."""
    own = ("default", SYSTEM_NAMESPACE, served.form.system_namespace)
    return namespace.startswith("kube-") or namespace in own
