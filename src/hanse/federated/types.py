"""Which federated kinds there are: KubeFed's own in every form, and those that FederatedTypeConfigs name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from hanse.api.kubefed.forms import (
    FORM_D,
    FORMS,
    TYPED_OVERRIDES,
    Form,
    OverrideStyle,
    default_targets,
    override_resource,
    placement_resource,
    template_resource,
)
from hanse.api.kubefed.type_configs import FederatedType, parse_type_config
from hanse.kube.manifest import Key, Obj, is_deleting
from hanse.kube.resources import NAMESPACES, Resource, gvk


@dataclass(frozen=True, slots=True)
class ServedType:
    """One kind of federated objects: what it federates, and the kinds in which its parts are written.

    `source` holds the template. Where a form writes a Namespace's placement apart, that is the source, and the template
    is the Namespace itself. `field` is the one that typed overrides set. A type that is `leaving` is federated no more,
    and its copies become the members' own; one that does not propagate keeps everything as it is.
    """

    form: Form
    target: Resource
    source: Resource
    placement: Resource | None = None
    override: Resource | None = None
    field: tuple[str, ...] = ()
    propagates: bool = True
    collects_status: bool = False
    leaving: bool = False

    @property
    def is_namespace(self) -> bool:
        """Whether it federates namespaces."""
        return self.target == NAMESPACES

    @property
    def has_status(self) -> bool:
        """Whether its source can be told how it went."""
        return self.source != self.placement

    @property
    def label(self) -> str:
        """The label that its copies carry, "" in the forms that knew none."""
        return "" if self.form.three_objects else self.form.managed_label

    def target_key(self, key: Key) -> Key:
        """Return the key that members know a source's copies by."""
        return key if self.target.namespaced else Key("", key.name)


@cache
def _default_types(forms: tuple[Form, ...]) -> tuple[ServedType, ...]:
    """Return the kinds that are federated without being enabled, in every one of the forms that had them."""
    return tuple(_default(form, target) for form in forms for target in default_targets(form))


class Types:
    """Every federated kind; what a FederatedTypeConfig says counts before the default.

    A config that is being deleted takes its type with it, but for those that need none.
    """

    def __init__(self, configs: Sequence[Obj] = (), forms: tuple[Form, ...] = FORMS) -> None:
        """`forms` are those whose kinds need no config; of others only what a config names is federated."""
        self.configs = configs
        self.forms = forms
        self.by_source = {each.source: each for each in _default_types(forms)}
        for config in configs:
            self._take(config)
        self._by_gvk = {
            (each.source.group, each.source.version, each.source.kind): each for each in self.by_source.values()
        }
        # The kind that federates the namespaces of each form.
        self.namespaces = {each.form.name: each for each in self.by_source.values() if each.is_namespace}
        limits = (each.source for each in self.namespaces.values())
        parts = (kind for each in self.by_source.values() for kind in (each.placement, each.override) if kind)
        self.inputs = tuple(dict.fromkeys((*limits, *parts)))

    def of(self, source: Obj) -> ServedType:
        """Return the type of a federated object."""
        return self._by_gvk[gvk(source)]

    def _take(self, config: Obj) -> None:
        if not isinstance(config.get("spec"), dict):
            # A host that took it before its kind had a schema may have one that says nothing.
            return
        read = parse_type_config(config)
        # The first forms name a Namespace as its own template, of which everything is known.
        if read.federated.kind == read.target.kind:
            return
        if not is_deleting(config):
            self.by_source[read.federated] = _configured(read)
        elif read.federated not in self.by_source:
            self.by_source[read.federated] = replace(_configured(read), leaving=True)


def needs_config(resource: Resource, forms: tuple[Form, ...] = FORMS) -> bool:
    """Tell whether objects of a federated kind are looked after only because a FederatedTypeConfig says so."""
    return all(each.source != resource for each in _default_types(forms))


def _default(form: Form, target: Resource) -> ServedType:
    template = template_resource(form, target)
    placement = placement_resource(form, target)
    if template == target and placement is not None:
        return ServedType(form, target, placement, placement)
    typed = TYPED_OVERRIDES.get(target.kind, ()) if form.overrides is OverrideStyle.FIELD else ()
    return ServedType(form, target, template, placement, override_resource(form, target), typed)


def _configured(config: FederatedType) -> ServedType:
    form = config.form or FORM_D
    made = _default(form, config.target)
    return ServedType(
        form,
        config.target,
        config.federated,
        made.placement,
        made.override,
        made.field,
        propagates=config.propagates,
        collects_status=config.collects_status,
    )
