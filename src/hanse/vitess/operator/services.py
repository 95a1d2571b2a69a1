"""Services outlive what was said of them: an annotation stays, and an address is chosen once."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.kube.manifest import Obj, annotations_of, name_of
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.shaping import with_annotations


def lasting(wish: Obj, live: Mapping[str, Obj]) -> Obj:
    """Return a child as it shall be; a Service keeps its address and all annotations that it was ever given."""
    found = live.get(name_of(wish)) if wish["kind"] == "Service" else None
    if found is None:
        return wish
    before = kept(found)
    spec = {name: value for name, value in wish["spec"].items() if name != "clusterIP"}
    if "clusterIP" in before.get("spec", {}):
        spec["clusterIP"] = before["spec"]["clusterIP"]
    return with_annotations({**wish, "spec": spec}, {**annotations_of(before), **annotations_of(wish)})
