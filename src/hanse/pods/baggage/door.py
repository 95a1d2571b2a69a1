"""What pods name follows them: ConfigMaps, Secrets, accounts, claims and namespaces into intents.

Each goes exactly where the pods are that name it, before them, and away after the last of them. What no pod names is
left alone: it gets no finalizer and no annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from hanse.api.admiralty.keys import HAS_FINALIZER
from hanse.api.namespaces import is_system
from hanse.api.plain_kinds import CLAIMS
from hanse.kube.cache import Change
from hanse.kube.manifest import Obj, key_of, labels_of, name_of, namespace_of, uid_of
from hanse.kube.resources import CONFIGMAPS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, Resource, gvk
from hanse.placement.ask import Placement
from hanse.pods.baggage.companion import AT_ONCE, TOLERATES_ALL, CompanionDoor, at_home, is_federated
from hanse.pods.baggage.copies import copy_of, fields_of, harmless
from hanse.propagation.aggregation import told_beside
from hanse.propagation.door import Affected, Farewell, Inputs
from hanse.propagation.intent import Follows, Intent, Problem
from hanse.propagation.report import Report

DATA_STAYS = Problem(
    "DataStays",
    "only the claim follows its pods, not its data: a claim in another cluster begins empty, and needs a storage class "
    "of that name there",
)
# What every cluster has of its own.
_FURNITURE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
_TOKENS = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})


def _claim(obj: Obj) -> Obj:
    spec = {name: value for name, value in (obj.get("spec") or {}).items() if name != "volumeName"}
    return {"spec": spec}


_BODIES: dict[Resource, Callable[[Obj], Obj]] = {
    CONFIGMAPS: lambda obj: fields_of(obj, "data", "binaryData", "immutable"),
    SECRETS: lambda obj: fields_of(obj, "type", "data", "immutable"),
    # The tokens of an account are its cluster's.
    SERVICE_ACCOUNTS: lambda obj: fields_of(obj, "imagePullSecrets", "automountServiceAccountToken"),
    CLAIMS: _claim,
    NAMESPACES: lambda _obj: {},
}
_KINDS = {(kind.group, kind.version, kind.kind): kind for kind in _BODIES}


class BaggageDoor(CompanionDoor):
    """Brings what pods name into the targets that they go to."""

    @property
    def name(self) -> str:
        """What people call the door of what pods name."""
        return "baggage"

    @property
    def resources(self) -> Sequence[Resource]:
        """The kinds that pods name, and the namespaces that they are in."""
        return tuple(_BODIES)

    @property
    def inputs(self) -> Sequence[Resource]:
        """Nothing: the pods say themselves what they name."""
        return ()

    def informed(self, _inputs: Inputs) -> BaggageDoor:
        """Return the same door: it has nothing to know."""
        return self

    def affected(self, _resource: Resource, _change: Change) -> Affected:
        """Say that no object depends on anything but those that name it."""
        return Affected()

    def admits(self, source: Obj) -> bool:
        """Tell whether an object may be brought anywhere at all."""
        return not _is_furniture(source) and not is_federated(source)

    def farewell(self, source: Obj) -> Farewell:
        """Leave a namespace where it is: what is in it may be others' by now."""
        return replace(super().farewell(source), orphan=source["kind"] == NAMESPACES.kind)

    def translate(self, source: Obj) -> Intent:
        """Say that an object goes where those are that name it, and nowhere else."""
        resource = _KINDS[gvk(source)]
        return Intent(
            resource=resource,
            key=key_of(source),
            source_uid=uid_of(source),
            template=self._template(resource, source),
            placement=Placement(tolerations=TOLERATES_ALL, failover=AT_ONCE),
            follows=Follows.NAMED,
            nowhere=True,
            at_home=at_home(self._targets),
            warnings=(DATA_STAYS,) if resource == CLAIMS else (),
            created=source["metadata"].get("creationTimestamp") or "",
        )

    def _template(self, resource: Resource, source: Obj) -> Obj:
        template = copy_of(self._source, source, _BODIES[resource](source))
        return _as_made(template) if resource == NAMESPACES else template

    def parting(self, source: Obj, waiting_for: Collection[str]) -> Obj:
        """Take the label off by which the engine follows an object, once nothing waits for it."""
        labels = labels_of(source)
        if waiting_for or HAS_FINALIZER not in labels:
            return source
        kept = {name: value for name, value in labels.items() if name != HAS_FINALIZER}
        return {**source, "metadata": {**source["metadata"], "labels": kept}}

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Say on an object what stands in the way of a copy, and on a claim that its data stays where it is."""
        told = super().reported(source, report, now)
        if source["kind"] != CLAIMS.kind or told is not told_beside(told, "") or not report.decision.chosen():
            return told
        return told_beside(told, DATA_STAYS.message)


def _as_made(namespace: Obj) -> Obj:
    """Return a namespace as a target gets it: how much may happen in it is for that cluster to say.

    The labels of a parent are not among what is left. By them copies without one are found and deleted, which a
    namespace never is.
    """
    metadata = namespace["metadata"]
    kept = {name: harmless(metadata[name]) for name in ("labels", "annotations")}
    return {**namespace, "metadata": {"name": metadata["name"], **kept}}


def _is_furniture(obj: Obj) -> bool:
    kind, name, namespace = obj["kind"], name_of(obj), namespace_of(obj)
    if is_system(name if kind == NAMESPACES.kind else namespace):
        return True
    return (kind, name) in _FURNITURE or (kind == SECRETS.kind and obj.get("type") in _TOKENS)
