"""Plain objects on a host that is a cluster with work of its own: only what somebody asked for leaves it.

There a Deployment runs in that very cluster, whose controllers act on it and write its status. So plain objects are
federated only in namespaces labelled for it, and only those on which no controller of the cluster acts; of the others
the federated type does the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hanse.api.federated_kinds import FederatedKind
from hanse.api.names import FEDERATE_ANNOTATION
from hanse.api.plain_kinds import LIMIT_RANGES, NETWORK_POLICIES
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, labels_of, namespace_of
from hanse.kube.resources import CONFIGMAPS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, Resource, gvk
from hanse.native.door import NativeDoor, read_inputs
from hanse.native.kinds import DEFAULT_KINDS
from hanse.placement.policy import Policies
from hanse.propagation.aggregation import told_beside
from hanse.propagation.door import Affected, Inputs
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.teaching import Teaching

# No controller of an ordinary cluster acts on these, and none writes their status.
GUEST_KINDS: tuple[Resource, ...] = (
    NAMESPACES,
    CONFIGMAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    LIMIT_RANGES,
    NETWORK_POLICIES,
)
# On a namespace of such a host: what is in it is the federation's.
FEDERATE_LABEL = FEDERATE_ANNOTATION

_REFUSED = frozenset((kind.group, kind.version, kind.kind) for kind in DEFAULT_KINDS if kind not in GUEST_KINDS)


class GuestDoor(NativeDoor):
    """Federates the plain objects of labelled namespaces, and refuses those that the host itself runs."""

    def __init__(
        self,
        kinds: tuple[Resource, ...] = DEFAULT_KINDS,
        policies: Policies | None = None,
        taught: Sequence[FederatedKind] = (),
        teachings: Sequence[Teaching] = (),
        namespaces: Mapping[Key, Obj] = MappingProxyType({}),
    ) -> None:
        """`namespaces` are those of the host."""
        super().__init__(kinds, policies, taught, teachings)
        self._namespaces = namespaces

    @property
    def inputs(self) -> Sequence[Resource]:
        """What says of plain objects what they mean, and the namespaces, which say whether they are federated."""
        return (*super().inputs, NAMESPACES)

    def informed(self, inputs: Inputs) -> GuestDoor:
        """Return the door that knows these inputs."""
        return GuestDoor(self._kinds, *read_inputs(inputs), self._teachings, inputs[NAMESPACES])

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Say that a namespace whose label came or went speaks of everything in it."""
        if resource != NAMESPACES:
            return super().affected(resource, change)
        before, now = (obj is not None and _is_open(obj) for obj in (change.old, change.new))
        return Affected() if before == now else Affected((Ref(NAMESPACES, change.key),), change.key.name)

    def admits(self, source: Obj) -> bool:
        """Tell whether an object goes into the members: its namespace says so, and it is no other cluster-wide one."""
        return super().admits(source) and self._is_asked_for(source)

    def lets_go(self, source: Obj) -> bool:
        """Tell whether an object, its kind or its namespace was taken out."""
        return super().lets_go(source) or not self._is_asked_for(source)

    def translate(self, source: Obj) -> Intent | Problem:
        """Read an object; one that the host runs itself is refused, with the way that there is."""
        if gvk(source) in _REFUSED:
            kind = source["kind"]
            return Problem(
                "RunsOnHost",
                f"a plain {kind} belongs to this cluster, which acts on it itself; write a Federated{kind}"
                " (`hanse federate` does) to have it in the clusters of the federation",
            )
        return super().translate(source)

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Say in the object why it cannot be placed; the status of what the host runs is not ours to write."""
        if gvk(source) not in _REFUSED:
            return super().refused(source, problem, now)
        return told_beside(source, problem.message)

    def _is_asked_for(self, source: Obj) -> bool:
        if source["kind"] == NAMESPACES.kind:
            return _is_open(source)
        namespace = self._namespaces.get(Key("", namespace_of(source))) if namespace_of(source) else None
        return namespace is not None and _is_open(namespace)


def _is_open(namespace: Obj) -> bool:
    return labels_of(namespace).get(FEDERATE_LABEL) == "true"
