"""What clusters export: a ServiceExport and the Service of the same name, read into plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.api.mcs import CLUSTER_SET_IP, HEADLESS
from hanse.kube.manifest import Obj, dig, is_deleting

_NO_ADDRESS = "None"
_EXTERNAL_NAME = "ExternalName"


@dataclass(frozen=True, slots=True)
class ExportedPort:
    """A port of an exported Service, as clients of the others are told of it."""

    name: str
    protocol: str
    number: int
    app_protocol: str = ""

    def __str__(self) -> str:
        spoken = f" ({self.app_protocol})" if self.app_protocol else ""
        return f"{self.name or 'unnamed'} {self.number}/{self.protocol}{spoken}"


@dataclass(frozen=True, slots=True)
class Export:
    """A Service that one cluster offers to the others."""

    cluster: str
    # When the ServiceExport was made: on what clusters disagree, the oldest is right.
    created: str
    type: str = CLUSTER_SET_IP
    ports: tuple[ExportedPort, ...] = ()
    families: tuple[str, ...] = ()
    affinity: str = ""
    affinity_config: Obj = field(default_factory=dict)
    traffic_policy: str = ""
    traffic_distribution: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def age(self) -> tuple[str, str]:
        """The order in which exports are believed; of those made in the same second the first by name."""
        return self.created, self.cluster


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a ServiceExport exports nothing, in one of the API's own words and in a sentence."""

    reason: str
    message: str


def read_export(cluster: str, export: Obj, service: Obj | None) -> Export | Refusal:
    """Read what a cluster exports by a ServiceExport and the Service of its name."""
    if service is None or is_deleting(service):
        return Refusal("NoService", "this cluster has no Service of this name; create it, or delete this export")
    spec: Obj = service.get("spec") or {}
    if spec.get("type") == _EXTERNAL_NAME:
        return Refusal(
            "InvalidServiceType", "a Service of type ExternalName leads out of the cluster and cannot be exported"
        )
    wish: Obj = export.get("spec") or {}
    headless = spec.get("clusterIP") == _NO_ADDRESS
    return Export(
        cluster=cluster,
        created=dig(export, "metadata", "creationTimestamp", default=""),
        type=HEADLESS if headless else CLUSTER_SET_IP,
        ports=tuple(map(_port, spec.get("ports") or ())),
        families=tuple(spec.get("ipFamilies") or ("IPv4",)),
        affinity=spec.get("sessionAffinity") or "",
        affinity_config=spec.get("sessionAffinityConfig") or {},
        traffic_policy=spec.get("internalTrafficPolicy") or "",
        traffic_distribution=spec.get("trafficDistribution") or "",
        labels=dict(wish.get("exportedLabels") or {}),
        annotations=dict(wish.get("exportedAnnotations") or {}),
    )


def _port(entry: Obj) -> ExportedPort:
    return ExportedPort(
        name=entry.get("name") or "",
        protocol=entry.get("protocol") or "TCP",
        number=entry["port"],
        app_protocol=entry.get("appProtocol") or "",
    )
