"""The one Service that leads clients to an application, whichever of its releases they shall reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.shipper.kinds import (
    APP_LABEL,
    BALANCED,
    BALANCED_LABEL,
    HELM_RELEASE_LABEL,
    HELM_WORKAROUND_LABEL,
    TRAFFIC_ENABLED,
    TRAFFIC_LABEL,
)
from hanse.kube.manifest import Obj, labels_of, name_of
from hanse.rollouts.assembly.shapes import mapping_in
from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem


def balanced_service(objects: Sequence[Obj]) -> Obj:
    """Return the only Service, or the only one labelled for production; raises SourceProblem."""
    services = [obj for obj in objects if obj.get("kind") == "Service" and obj.get("apiVersion") == "v1"]
    chosen = [obj for obj in services if labels_of(obj).get(BALANCED_LABEL) == BALANCED]
    if not chosen and len(services) == 1:
        chosen = services
    if len(chosen) != 1:
        raise SourceProblem(
            CHART_ERROR,
            f'one and only one v1.Service object with label "{BALANCED_LABEL}" is required, but {len(chosen)} found '
            "instead",
        )
    return chosen[0]


def patch_service(service: Obj, release: Obj) -> None:
    """Let the Service select pods of every release of the application that shall have traffic; changes it in place."""
    label = f'Service "{name_of(service)}"'
    spec = mapping_in(service, "spec", of=label)
    selector = _without_release(service, mapping_in(spec, "selector", of=label), release)
    selector[APP_LABEL] = labels_of(service)[APP_LABEL]
    selector[TRAFFIC_LABEL] = TRAFFIC_ENABLED
    spec["selector"] = selector
    service["metadata"]["labels"][BALANCED_LABEL] = BALANCED


def _without_release(service: Obj, selector: Mapping[str, str], release: Obj) -> dict[str, str]:
    # Any entry with the release's name ties the Service to one release, whatever the label is called.
    tied = {label for label, value in selector.items() if value == name_of(release)}
    if not tied and HELM_RELEASE_LABEL not in selector:
        return dict(selector)
    workaround = labels_of(release).get(HELM_WORKAROUND_LABEL, "false")
    if workaround == "true":
        return {label: value for label, value in selector.items() if label not in tied}
    if workaround != "false":
        raise SourceProblem(
            CHART_ERROR,
            f'Unexpected value for label "{HELM_WORKAROUND_LABEL}": "{workaround}". Expected values: true/false.',
        )
    label = HELM_RELEASE_LABEL if HELM_RELEASE_LABEL in selector else min(tied)
    raise SourceProblem(
        CHART_ERROR,
        f'The chart contains "{label}" label in Service object "{name_of(service)}". This will break shipper traffic '
        f'shifting logic. Consider adding the workaround label "{HELM_WORKAROUND_LABEL}": true to your Application '
        "object",
    )
