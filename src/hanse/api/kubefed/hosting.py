"""Everything that a host serves so that YAML written for KubeFed runs on it."""

from __future__ import annotations

from collections.abc import Callable

from hanse.api.kubefed.config import CONFIG_CRDS
from hanse.api.kubefed.dns_kinds import DNS_CRDS
from hanse.api.kubefed.forms import DEFAULT_TARGETS, FORMS, Form, default_targets
from hanse.api.kubefed.generation import definitions_in_forms
from hanse.api.kubefed.preferences import PREFERENCE_CRDS
from hanse.api.kubefed.records import RECORD_CRDS
from hanse.api.kubefed.type_configs import TYPE_CONFIG_CRDS
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.kube.schemas import Schema, schema_for


def known_schema(target: Resource) -> Schema | None:
    """Return the schema of a kind that every Kubernetes has; None of any other."""
    return schema_for(target.group, target.version, target.kind)


def kubefed_definitions(
    schemas: Callable[[Resource], Schema | None] = known_schema, forms: tuple[Form, ...] = FORMS
) -> list[Obj]:
    """Return the definitions of KubeFed's kinds and of its default federated kinds, the newest form first.

    A host creates those that it does not have; where KubeFed is or was installed, its own stay.
    """
    federated = [
        one
        for target in DEFAULT_TARGETS
        for one in definitions_in_forms(_forms_with(target, forms), target, schemas(target))
    ]
    # A host that is asked for a kind without its group answers with the group that it was told of first.
    federated.sort(key=lambda crd: [form.group for form in forms].index(crd["spec"]["group"]))
    families = {form.family for form in forms}
    others = (*TYPE_CONFIG_CRDS, *CONFIG_CRDS, *RECORD_CRDS, *PREFERENCE_CRDS, *DNS_CRDS)
    return [*federated, *(crd for crd in others if crd["spec"]["group"].partition(".")[2] in families)]


def _forms_with(target: Resource, forms: tuple[Form, ...]) -> tuple[Form, ...]:
    return tuple(form for form in forms if target in default_targets(form))
