"""What stands beside a federated object and says what it means: placements, overrides, preferences, configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.api.kubefed.config import FederationSettings, config_resource, parse_config
from hanse.api.kubefed.forms import FORM_C, FORM_D, FORM_D0, Form
from hanse.api.kubefed.objects import FieldProblem, WrittenPlacement, read_placement
from hanse.api.kubefed.preferences import PREFERENCES, TARGET_KINDS, preference_resource
from hanse.api.kubefed.scheduling import SchedulingPreference, read_scheduling_preference
from hanse.api.kubefed.type_configs import type_config_resource
from hanse.federated.placement import Surroundings
from hanse.federated.types import ServedType, Types
from hanse.kube.manifest import Key, Obj, dig, is_deleting, key_of
from hanse.kube.resources import NAMESPACES, Resource

Objects = Mapping[Key, Obj]

_FAMILIES = (FORM_D, FORM_D0, FORM_C)
TYPE_CONFIG_KINDS: tuple[Resource, ...] = tuple(type_config_resource(form) for form in _FAMILIES)
CONFIG_KINDS: tuple[Resource, ...] = tuple(config_resource(form) for form in _FAMILIES)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Everything that was read beside the federated objects themselves."""

    types: Types = field(default_factory=Types)
    settings: Mapping[str, FederationSettings] = field(default_factory=dict)
    objects: Mapping[Resource, Objects] = field(default_factory=dict)

    def informed(self, objects: Mapping[Resource, Objects]) -> Knowledge:
        """Return what the objects of all input kinds say."""
        configs = [obj for kind in TYPE_CONFIG_KINDS for obj in _in_order(objects.get(kind))]
        types = self.types if configs == self.types.configs else Types(configs, self.types.forms)
        settings = {
            form.family: parse_config(_in_order(found)[0])
            for form in _FAMILIES
            if (found := objects.get(config_resource(form)))
        }
        return Knowledge(types, settings, objects)

    @property
    def kinds(self) -> tuple[Resource, ...]:
        """The kinds that say what federated objects mean."""
        return (*TYPE_CONFIG_KINDS, *CONFIG_KINDS, *PREFERENCES, NAMESPACES, *self.types.inputs)

    def find(self, resource: Resource | None, key: Key) -> Obj | None:
        """Return an input, None where there is none."""
        return self.objects.get(resource, {}).get(key) if resource is not None else None

    def settings_of(self, form: Form) -> FederationSettings | None:
        """Return the configuration of a form; None where nobody wrote one."""
        return self.settings.get(form.family)

    def adopts(self, form: Form) -> bool:
        """Tell whether objects that members already have are taken over."""
        settings = self.settings_of(form)
        return settings is None or settings.adopts

    def collects_status(self, served: ServedType) -> bool:
        """Tell whether the members' own status is shown in federated objects of a kind."""
        settings = self.settings_of(served.form)
        return served.collects_status and (settings is None or settings.collects_status)

    def around(self, served: ServedType, namespace: str) -> Surroundings:
        """Return what is known of the namespace that an object is in; nothing where that does not concern it."""
        if not served.target.namespaced:
            return Surroundings()
        settings, limits = self.settings_of(served.form), self.types.namespaces.get(served.form.name)
        required = settings is not None and not settings.namespaced and not served.form.three_objects
        if limits is None:
            return Surroundings(required=required)
        name = f"{limits.source.kind} {namespace}/{namespace}"
        found = self.find(limits.source, Key(namespace, namespace))
        # A namespace leaves the clusters only when nothing is wanted in it any more.
        stays = found is not None and not is_deleting(found)
        return Surroundings(written_placement(found, limits) if found and stays else None, required, name)

    def preference(self, served: ServedType, key: Key) -> tuple[Resource, Obj] | None:
        """Return the preference that speaks for an object: one of its own form before those of others."""
        if served.source.kind not in TARGET_KINDS:
            return None
        settings = self.settings_of(served.form)
        if settings is not None and not settings.schedules:
            return None
        for resource in dict.fromkeys((preference_resource(served.form), *PREFERENCES)):
            found = self.find(resource, key)
            if found is not None and dig(found, "spec", "targetKind") == served.source.kind:
                return resource, found
        return None


def written_placement(source: Obj, served: ServedType) -> WrittenPlacement | FieldProblem:
    """Read the placement that an object holds itself, or is."""
    if served.source == served.placement:
        return read_placement(source.get("spec"), "spec")
    return read_placement(dig(source, "spec", "placement"), "spec.placement")


def read_preference(found: Obj) -> SchedulingPreference | FieldProblem:
    """Read a preference; what is wrong says which one it is."""
    read = read_scheduling_preference(found)
    if isinstance(read, FieldProblem):
        return FieldProblem(f"ReplicaSchedulingPreference {key_of(found)}: {read.path}", read.message)
    return read


def _in_order(objects: Objects | None) -> list[Obj]:
    return [obj for _, obj in sorted((objects or {}).items())]
