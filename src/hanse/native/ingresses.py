"""What an Ingress of the federation has to know of its clusters, where those share one address."""

from __future__ import annotations

from hanse.api.plain_kinds import INGRESSES
from hanse.kube.manifest import Obj, annotations_of, key_of
from hanse.propagation.door import Mark
from hanse.propagation.intent import Ref
from hanse.propagation.one_address import FIRST_CLUSTER_ANNOTATION, STATIC_IP_ANNOTATION, UNDECIDED
from hanse.propagation.report import Report

# On a cluster's Ingress, by its ingress controller: the name of the address that it has there.
_CLUSTERS_STATIC_IP_ANNOTATION = "ingress.kubernetes.io/static-ip"


def address_mark(source: Obj, report: Report | None) -> Mark | None:
    """Say what an Ingress has to know of its clusters: the name of their address, or before that who is first.

    Only the first cluster's counts: one that keeps to itself may have an address of a name of its own.
    """
    annotations = annotations_of(source)
    if report is None or annotations.get(STATIC_IP_ANNOTATION):
        return None
    ref, first = Ref(INGRESSES, key_of(source)), annotations.get(FIRST_CLUSTER_ANNOTATION)
    copy = next((row.observed for row in report.rows if row.live and row.cluster == first), None)
    if copy is not None and (name := annotations_of(copy).get(_CLUSTERS_STATIC_IP_ANNOTATION)):
        return Mark(ref, STATIC_IP_ANNOTATION, name)
    waiting = [row for row in report.rows if row.live and row.held == UNDECIDED]
    # A cluster that has one already has its address, too.
    waiting.sort(key=lambda row: row.observed is None)
    return Mark(ref, FIRST_CLUSTER_ANNOTATION, waiting[0].cluster) if waiting else None
