"""Everything that reads a stored object of some kind: front doors, registry, services, lambda controllers, Vitess."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hanse.api.clusters import parse_cluster
from hanse.api.dns_zones import DnsZoneError, parse_dns_zone
from hanse.api.federated_kinds import parse_federated_kind
from hanse.api.federation import FederationError, parse_federation
from hanse.api.kubefed.config import parse_config
from hanse.api.kubefed.scheduling import read_scheduling_preference
from hanse.api.kubefed.type_configs import parse_type_config
from hanse.cli.rehearsal import Federation, fleet
from hanse.clusters.forms import FORMS as CLUSTER_FORMS
from hanse.clusters.forms import FormError, read_form
from hanse.composite.reading import read_controller
from hanse.placement.policy import read_policy
from hanse.pods.placeholder.reading import answers_of, attempt_of, expires_after, lost_after, submitted
from hanse.pods.placeholder.shapes import Misfit, readable
from hanse.pods.surroundings import Surroundings, wish_of
from hanse.pods.targets.reading import read_target
from hanse.pods.wishes.constraints import WishError
from hanse.propagation.intent import Problem
from hanse.rollouts.applications.planning import plan as plan_application
from hanse.rollouts.applications.planning import unresolved
from hanse.rollouts.blocks.standing import standing
from hanse.rollouts.environment import EnvironmentProblem
from hanse.rollouts.execution.views import view_of
from hanse.services.addresses import parse_addresses
from hanse.services.health.targets import read_report
from hanse.services.ingress.entrance import parse_entrance
from hanse.services.ingress.manifest import IngressError, backends_of, rules_of
from hanse.services.mcs.exports import read_export
from hanse.services.observing import sighting_of
from hanse.services.observing import wish_of as service_wish_of
from hanse.vitess.federated.first_splitting import first_refusals, split_first
from hanse.vitess.federated.planning import Facts, next_plan
from hanse.vitess.federated.sights import sites_of
from hanse.vitess.federated.splitting import split
from hanse.vitess.first import cluster as first_cluster
from hanse.vitess.operator.validation import cluster_problems

Obj = dict[str, Any]
Read = Callable[[Obj], Any]
_NOW = "2026-01-01T00:00:00Z"
CLUSTERS = fleet({"a": {"region": "eu"}, "b": {"region": "us"}, "c": {}})
_SITES = sites_of(CLUSTERS)


def _placed(obj: Obj) -> Any:
    """Take an object the whole way from its front door to what every member gets."""
    federation = Federation(CLUSTERS, [obj]).beside([obj])
    rehearsed = federation.rehearse(obj)
    return [rehearsed.title, rehearsed.trouble, rehearsed.explain()]


def _refused(obj: Obj) -> Any:
    """Have the door of an object say why nothing can be made of it, and what becomes of its copies."""
    from hanse.cli.doors import all_doors, informed, kind_in

    doors = informed(all_doors(), [obj])
    kind = kind_in(doors.resources, obj)
    if kind is None or not doors.of(kind).admits(obj):
        return None
    door = doors.of(kind)
    return [
        door.refused(obj, Problem("Odd", "it is odd"), _NOW),
        door.farewell(obj),
        door.kin(obj),
        door.needs(obj),
        door.marks(obj, None),
        door.lets_go(obj),
        door.parting(obj, ["a"]),
    ]


def _application(obj: Obj) -> Any:
    return [unresolved(obj), plan_application(obj, [], [], None, _NOW), standing(obj, [])]


def _release(obj: Obj) -> Any:
    return view_of(obj, None, None, None)


def _pod(obj: Obj) -> Any:
    found = [answers_of(obj), attempt_of(obj), expires_after(obj), lost_after(obj), submitted(obj)]
    return [*found, wish_of(obj, obj, ["a", "b"], Surroundings(clusters=CLUSTERS))]


def _vitess(obj: Obj) -> Any:
    problems = cluster_problems(obj.get("spec") or {})
    planned = next_plan(obj, None, Facts(_SITES))
    return [problems, planned, None if planned.refusals else split(obj, planned.plan)]


def _first_vitess(obj: Obj) -> Any:
    refusals = first_refusals(obj.get("spec") or {}, {})
    return [
        refusals,
        None if refusals else split_first(obj),
        first_cluster.sync({"parent": obj, "children": {"VitessCell.vitess.io/v1alpha1": {}}}),
    ]


def _service(obj: Obj) -> Any:
    return [service_wish_of(obj), sighting_of(obj), read_export("a", {"metadata": {}}, obj)]


def _ingress(obj: Obj) -> Any:
    return [rules_of(obj), backends_of(obj)]


def _form(obj: Obj) -> Any:
    form = next(
        one
        for one in CLUSTER_FORMS
        if (one.resource.api_version, one.resource.kind) == (obj["apiVersion"], obj["kind"])
    )
    return read_form(form, obj)


_FORMED = {(one.resource.api_version, one.resource.kind) for one in CLUSTER_FORMS}
_BY_KIND: dict[str, tuple[tuple[Read, tuple[type[Exception], ...]], ...]] = {
    "hanse.dev/PlacementPolicy": ((read_policy, ()),),
    "hanse.dev/ClusterPlacementPolicy": ((read_policy, ()),),
    "hanse.dev/FederatedKind": ((parse_federated_kind, ()),),
    "hanse.dev/Federation": ((parse_federation, (FederationError,)),),
    "hanse.dev/DNSZone": ((parse_dns_zone, (DnsZoneError,)),),
    "hanse.dev/ServiceAddresses": ((parse_addresses, ()),),
    "hanse.dev/HealthReport": ((read_report, ()),),
    "hanse.dev/GlobalIngress": ((parse_entrance, ()),),
    "clusterregistry.k8s.io/Cluster": ((parse_cluster, ()),),
    "shipper.booking.com/Application": ((_application, ()),),
    "shipper.booking.com/Release": ((_release, (EnvironmentProblem,)),),
    "multicluster.admiralty.io/Target": ((read_target, ()),),
    "multicluster.admiralty.io/ClusterTarget": ((read_target, ()),),
    "multicluster.admiralty.io/PodChaperon": ((readable, (Misfit,)),),
    "metacontroller.k8s.io/CompositeController": ((read_controller, ()),),
    "metacontroller.k8s.io/DecoratorController": ((read_controller, ()),),
    "metacontroller.k8s.io/MapController": ((read_controller, ()),),
    "planetscale.com/VitessCluster": ((_vitess, ()),),
    "vitess.io/VitessCluster": ((_first_vitess, ()),),
    "core.kubefed.io/FederatedTypeConfig": ((parse_type_config, ()),),
    "core.kubefed.io/KubeFedConfig": ((parse_config, (FederationError,)),),
    "scheduling.kubefed.io/ReplicaSchedulingPreference": ((read_scheduling_preference, ()),),
    "/Pod": ((_pod, (WishError,)),),
    "/Service": ((_service, ()),),
    "networking.k8s.io/Ingress": ((_ingress, (IngressError,)),),
}


def readers_of(obj: Obj) -> Iterator[tuple[str, Read, tuple[type[Exception], ...]]]:
    """Yield all that reads an object, and the words in which it may refuse."""
    yield "door", _placed, ()
    yield "refusal", _refused, ()
    group = obj["apiVersion"].rpartition("/")[0]
    for read, refusals in _BY_KIND.get(f"{group}/{obj['kind']}", ()):
        yield read.__name__, read, refusals
    if (obj["apiVersion"], obj["kind"]) in _FORMED:
        yield "cluster form", _form, (FormError,)
