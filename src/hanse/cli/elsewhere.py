"""Reading, for a command, what every cluster shows of pods that run elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.api.admiralty.keys import HAS_FINALIZER, PARENT_UID, PODS_DOOR
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION, Cluster, parse_cluster, words_of
from hanse.api.metacontroller.kinds import COMPOSITES_DOOR
from hanse.api.planetscale.kinds import VITESS_DOOR
from hanse.cli.fleet import ask_members
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Obj, annotations_of, name_of, namespace_of
from hanse.kube.resources import PODS, Resource
from hanse.pods.placeholder.reading import is_placeholder

# The name of the federation's own API server as a source.
FEDERATION_SOURCE = ""


@dataclass(frozen=True, slots=True)
class Sight:
    """What one cluster shows: its placeholders, where they may go, and what it runs for others."""

    placeholders: tuple[Obj, ...] = ()
    targets: tuple[Obj, ...] = ()
    chaperons: tuple[Obj, ...] = ()


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The whole federation as a command sees it; `silent` are the clusters that do not answer, with the reason."""

    clusters: Mapping[str, Cluster]
    doors: frozenset[str]
    seen: Mapping[str, Sight]
    silent: Mapping[str, str] = field(default_factory=dict)
    composites: frozenset[str] = frozenset()
    """The clusters whose lambda controllers are run."""
    vitess: frozenset[str] = frozenset()
    """The clusters whose VitessClusters are run."""


def has_door(cluster: Obj, door: str = PODS_DOOR) -> bool:
    """Tell whether a door of a registered cluster is open: whether its pods may run elsewhere, if no other is named."""
    return door in words_of(annotations_of(cluster).get(DOORS_ANNOTATION, ""))


async def read_elsewhere(host: Client, namespace: str = "") -> Elsewhere:
    """Ask the federation and every member; of a namespace, or of all of them."""
    listed = sorted((await host.list(CLUSTERS)).items, key=name_of)
    clusters = [parse_cluster(obj) for obj in listed]

    async def ask(member: Member) -> Sight:
        return await look(member.client, namespace)

    own, answers = await asyncio.gather(look(host, namespace), ask_members(host, clusters, ask))
    return Elsewhere(
        clusters={cluster.name: cluster for cluster in clusters},
        doors=frozenset(name_of(obj) for obj in listed if has_door(obj)),
        seen={FEDERATION_SOURCE: own, **{name: each for name, each in answers.items() if isinstance(each, Sight)}},
        silent={name: each for name, each in answers.items() if isinstance(each, str)},
        composites=frozenset(name_of(obj) for obj in listed if has_door(obj, COMPOSITES_DOOR)),
        vitess=frozenset(name_of(obj) for obj in listed if has_door(obj, VITESS_DOOR)),
    )


async def look(client: Client, namespace: str = "") -> Sight:
    """Read one cluster; kinds that it does not serve, or not for Hanse, have no objects: its door is closed."""
    pods, own, everywhere, chaperons = await asyncio.gather(
        client.list(PODS, namespace, labels=f"{HAS_FINALIZER}=true"),
        _listed(client, TARGETS, namespace),
        _listed(client, CLUSTER_TARGETS),
        _listed(client, POD_CHAPERONS, namespace, PARENT_UID),
    )
    return Sight(
        placeholders=tuple(
            sorted(filter(is_placeholder, pods.items), key=lambda pod: (namespace_of(pod), name_of(pod)))
        ),
        targets=tuple(everywhere + own),
        chaperons=tuple(chaperons),
    )


async def _listed(client: Client, kind: Resource, namespace: str = "", labels: str = "") -> list[Obj]:
    try:
        return (await client.list(kind, namespace, labels=labels)).items
    except (Forbidden, NotFound):
        return []
