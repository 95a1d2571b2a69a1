"""One federated object into an intent: its template, where it goes, what differs there, and what clusters keep."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.api.kubefed.forms import FORM_D
from hanse.api.kubefed.objects import FederatedObject, FieldProblem, read_split, read_whole
from hanse.federated.knowledge import Knowledge, read_preference, written_placement
from hanse.federated.overrides import overrides_of
from hanse.federated.placement import Resolved, Surroundings, resolve
from hanse.federated.preferences import schedule
from hanse.federated.template import Template, retained, runs_pods, template_for
from hanse.federated.types import ServedType
from hanse.kube.manifest import Key, Obj, key_of, labels_of, uid_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.placement.ask import Division, Duplicated, Placement
from hanse.placement.candidate import Toleration
from hanse.propagation.intent import Intent, Problem
from hanse.propagation.stored_form import as_stored

# What runs nothing has to be where a workload that tolerates a taint needs it.
_EVERY_TAINT = (Toleration(operator="Exists"),)


Found = tuple[Resource, Obj]


@dataclass(frozen=True, slots=True)
class _Beside:
    """The objects of the same name that say where an object goes, and what differs there."""

    placement: Obj | None
    override: Obj | None
    preference: Found | None

    @property
    def voices(self) -> tuple[Obj, ...]:
        """Those that there are."""
        preference = self.preference[1] if self.preference is not None else None
        return tuple(each for each in (self.placement, self.override, preference) if each is not None)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where an object goes; `replicas` in all where they divide, None where every cluster gets what is written."""

    resolved: Resolved
    replicas: int | None = None
    division: Division = field(default_factory=Duplicated)
    told: tuple[str, ...] = ()


def translate(source: Obj, served: ServedType, known: Knowledge) -> Intent | Problem:
    """Say what a federated object asks for, or why that cannot be said."""
    key = key_of(source)
    if served.is_namespace and key.name != key.namespace:
        return Problem(
            "InvalidName",
            f"metadata.name must be {key.namespace}, the namespace that it is in and that it federates, not {key.name}",
        )
    beside = _Beside(
        known.find(served.placement, key) if served.has_status else None,
        known.find(served.override, key),
        known.preference(served, key),
    )
    read = _read_object(source, served, known, beside)
    if isinstance(read.template, FieldProblem):
        return Problem("InvalidTemplate", str(read.template))
    asked = _asked_for(read, known.around(served, key.namespace), beside.preference, key)
    if isinstance(asked, Problem):
        return asked
    template = _template(read.template, served, key)
    divides = asked.replicas is not None
    return Intent(
        resource=served.target,
        key=served.target_key(key),
        source_uid=uid_of(source),
        template=as_stored(template.manifest),
        placement=Placement(
            clusters=asked.resolved.term,
            tolerations=() if runs_pods(template.manifest) else _EVERY_TAINT,
            division=asked.division,
        ),
        replicas=asked.replicas,
        overrides=overrides_of(read.overrides, template.manifest, served.label),
        sources=(*asked.told, *asked.resolved.told),
        retain=retained(served.target, template.manifest, replicas=read.retain_replicas and not divides),
        adopt=known.adopts(served.form),
        nowhere=asked.resolved.nowhere,
        warnings=template.warnings,
        voices=beside.voices,
    )


def _read_object(source: Obj, served: ServedType, known: Knowledge, beside: _Beside) -> FederatedObject:
    """Read an object with the parts of it that are objects of their own."""
    key = key_of(source)
    if served.source == served.placement:
        namespace = known.find(NAMESPACES, Key("", key.name)) or {"metadata": {}}
        return FederatedObject({"metadata": {"labels": labels_of(namespace)}}, written_placement(source, served), ())
    if served.form.three_objects:
        return read_split(source, beside.placement, beside.override, served.form, served.field)
    return read_whole(source, served.form)


def _asked_for(read: FederatedObject, around: Surroundings, found: Found | None, key: Key) -> _Asked | Problem:
    """Say where an object goes: as its preference has it where there is one, else as it says itself."""
    if found is None:
        resolved = resolve(read.placement, around)
        return resolved if isinstance(resolved, Problem) else _Asked(resolved)
    preference = read_preference(found[1])
    if isinstance(preference, FieldProblem):
        return Problem("InvalidPreference", f"{preference}; until then everything stays as it is")
    scheduled = schedule(preference, read.placement, around)
    if isinstance(scheduled, Problem):
        return scheduled
    told = f"ReplicaSchedulingPreference {key} divides {scheduled.replicas} replicas"
    return _Asked(scheduled.resolved, scheduled.replicas, scheduled.division, (told,))


def _template(written: Obj, served: ServedType, key: Key) -> Template:
    # Before the last form the version was the kind's, whatever the template said.
    own_version = served.form == FORM_D
    return template_for(written, served.target, served.target_key(key), label=served.label, own_version=own_version)
