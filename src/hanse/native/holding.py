"""Which new objects admission holds for the engine at once, so that it need not write its finalizer into each of them.

Only objects are chosen that the engine takes up whatever happens; about everything else it decides itself. The kinds
are those that are federated without being asked for: they are followed as long as a control plane runs, so nothing is
held that nobody would let go again. What is created while none runs can be deleted when one runs again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hanse.api.names import FEDERATE_ANNOTATION
from hanse.kube.resources import SECRETS, SERVICE_ACCOUNTS, Resource
from hanse.native.kinds import DEFAULT_KINDS, RESERVED_NAMESPACES

# Of these kinds every cluster has objects of its own, which only a closer look tells from the others.
_LOOKED_AT = frozenset({SECRETS, SERVICE_ACCOUNTS})
# Objects that Kubernetes makes by itself, whatever their kind.
_FURNITURE = ("kubernetes", "kube-root-ca.crt")


def held_by_default(disabled: Collection[Resource] = ()) -> list[Resource]:
    """Return the kinds of plain objects of which admission may tell those that the engine takes up."""
    return [kind for kind in DEFAULT_KINDS if kind.namespaced and kind not in _LOOKED_AT and kind not in disabled]


def held_at_birth(held: Iterable[Resource]) -> str:
    """Return the CEL expression for the new objects that are given the finalizer by admission, of these kinds."""
    kinds = [f"{kind.group}/{kind.plural}" for kind in held]
    metadata = "object.metadata"
    taken_out = (
        f"has({metadata}.annotations) && '{FEDERATE_ANNOTATION}' in {metadata}.annotations "
        f"&& {metadata}.annotations['{FEDERATE_ANNOTATION}'] == 'false'"
    )
    return " && ".join(
        (
            f"request.resource.group + '/' + request.resource.resource in {kinds}",
            f"has({metadata}.namespace) && !{metadata}.namespace.startsWith('kube-')",
            f"!({metadata}.namespace in {list(RESERVED_NAMESPACES)})",
            f"!(has({metadata}.name) && {metadata}.name in {list(_FURNITURE)})",
            f"!has({metadata}.ownerReferences)",
            f"!({taken_out})",
        )
    )
