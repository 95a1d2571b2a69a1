"""Whether a child that has moved is well, so that the next one may move."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.placed_children import LOST_ANNOTATION
from hanse.composite.applying import Mark, is_applied, is_as_desired
from hanse.composite.children import ChildId
from hanse.composite.placing import has_arrived
from hanse.composite.preparing import Child
from hanse.composite.spec import ChildRule, Method, StatusCheck
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting

Marks = Mapping[ChildId, Mark]


def is_current(child: Child, live: Obj, marks: Marks | None) -> bool:
    """Tell whether a child is what the hook wants of it; without `marks` of what was applied, by merging."""
    if child.id.cluster:
        return has_arrived(child.manifest, live)
    if marks is None:
        return is_as_desired(live, child.manifest)
    return is_applied(marks.get(child.id), child.manifest, live)


def why_unsettled(child: Child, live: Obj | None, rule: ChildRule, marks: Marks | None) -> str:
    """Return why the rollout must wait for a child that is at the latest revision, "" where it need not."""
    if live is not None and not is_current(child, live, marks):
        return f"child {child.id} is not updated yet"
    return why_unavailable(child.id, live, rule)


def why_unavailable(child: ChildId, live: Obj | None, rule: ChildRule) -> str:
    """Return why a child does not do its work, at whichever revision it is; "" where it does."""
    if live is None:
        return f"missing child {child}"
    if is_deleting(live):
        return f"child {child} is being deleted"
    if child.cluster and (lost := annotations_of(live).get(LOST_ANNOTATION)):
        return f"child {child} cannot be asked about: {lost}"
    if rule.method is Method.ROLLING_IN_PLACE and not _has_observed(live):
        return f"child {child} with RollingInPlace update strategy hasn't observed latest spec"
    failed = next((why for check in rule.checks if (why := _why_failed(check, live))), "")
    return f"child {child} failed status check: {failed}" if failed else ""


def _has_observed(live: Obj) -> bool:
    observed = dig(live, "status", "observedGeneration", default=0)
    if not isinstance(observed, int) or observed <= 0:
        return True  # kinds that say nothing of it are not waited for
    return observed >= int(dig(live, "metadata", "generation", default=0))


def _why_failed(check: StatusCheck, live: Obj) -> str:
    conditions = dig(live, "status", "conditions", default=[])
    listed = [entry for entry in conditions if isinstance(entry, dict)] if isinstance(conditions, list) else []
    found = find_condition(listed, check.type)
    if found is None:
        return f"condition {check.type} is missing"
    for field, wanted in (("status", check.status), ("reason", check.reason)):
        if wanted is not None and found.get(field) != wanted:
            return f"condition {check.type} has {field} {found.get(field)}, not {wanted}"
    return ""
