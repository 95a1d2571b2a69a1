"""Opening the door of a cluster for pods that run elsewhere: decided first, shown or written then."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from hanse.api.admiralty.keys import PODS_DOOR
from hanse.api.admiralty.kinds import CLUSTER_TARGETS
from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION, parse_cluster, words_of
from hanse.cli.connection import connected
from hanse.cli.door_members import SignIn, identity_in, of_cluster, registered, require_cluster, signed_in
from hanse.cli.failures import Failure, Misuse
from hanse.clusters.account import CLUSTER_ROLES
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, annotations_of, name_of
from hanse.pods.installing.admission_call import admission_of, calls_admission
from hanse.pods.installing.closing import listed
from hanse.pods.installing.opening import Admission, Identity, Opening, opening, wait_answering, write_into
from hanse.pods.installing.rights import host_role
from hanse.pods.installing.targets import clusters_in, not_ours


@dataclass(frozen=True, slots=True)
class OpeningWish:
    """What the command line asks for; without `targets` every registered cluster is one."""

    cluster: str
    targets: tuple[str, ...] = ()
    image: str = ""
    url: str = ""
    sign_in: SignIn = field(default_factory=SignIn)
    wait_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Opened:
    """What was opened, and what has to be told of it."""

    opening: Opening
    targets: tuple[str, ...]
    notes: tuple[str, ...] = ()


async def open_door(host_at: Endpoint, wish: OpeningWish, *, writes: bool) -> Opened:
    """Open the door of a cluster, or only say what that would write; raises Failure."""
    async with connected(host_at) as host:
        known = await registered(host)
        source = require_cluster(wish.cluster, known, "--cluster")
        targets = _targets(wish, known)
        clusters = [source, *(require_cluster(name, known, "--targets") for name in targets if name != source.name)]
        async with signed_in(host, clusters, wish.sign_in) as members:
            identities = {}
            for cluster in clusters:
                with of_cluster(cluster.name):
                    identities[cluster.name] = await identity_in(host, members[cluster.name], cluster)
            with of_cluster(source.name):
                found = await listed(members[source.name], CLUSTER_TARGETS)
                admission = await _admission(members[source.name], wish, identities[source.name])
            kept, named = not_ours(found, targets), clusters_in(found) & set(known)
            allowed = named & await _granted(host, source.name)
            planned = opening(known[source.name], targets, identities, admission, allowed=allowed, kept=kept)
            notes = [f"ClusterTarget {name} is somebody else's and stays as it is" for name in kept]
            notes += _unheard(source.name, named - allowed - {source.name, *targets})
            if writes:
                await _write(host, members, planned, wish.wait_seconds)
            return Opened(planned, targets, tuple(notes))


def _targets(wish: OpeningWish, known: dict[str, Obj]) -> tuple[str, ...]:
    if wish.targets:
        return tuple(dict.fromkeys(wish.targets))
    # One that fetches its work cannot be reached with a pod.
    return tuple(sorted(name for name, obj in known.items() if not parse_cluster(obj).pull))


async def _granted(host: Client, source: str) -> set[str]:
    """Return the clusters that the federation lets pods of a source use: opening a door again takes nothing away.

    It is not for the source to say: whoever administers it can name any cluster there.
    """
    role = await host.find(CLUSTER_ROLES, host_role(source))
    return {name for rule in (role or {}).get("rules") or () for name in rule.get("resourceNames") or ()}


def _unheard(source: str, clusters: Collection[str]) -> list[str]:
    return [
        f"a ClusterTarget of {source} names cluster {name}, which its pods may not use; give it with --targets to let "
        "them"
        for name in sorted(clusters)
    ]


async def _admission(source: Client, wish: OpeningWish, identity: Identity) -> Admission | None:
    """Return how pods are admitted from now on, None where that stays as it is."""
    if wish.image and wish.url:
        raise Misuse("--image and --admission-url: give one of them, for a server in the cluster or beside it")
    if not wish.image and not wish.url:
        if not await calls_admission(source):
            raise Misuse(
                "--image: name an image in which `hanse` is the entry point, which admits pods in the cluster; or give "
                "--admission-url, where `hanse agent admission` runs beside it"
            )
        return None
    try:
        return await admission_of(source, wish.cluster, image=wish.image, url=wish.url, own=identity.users)
    except ValueError as error:
        raise Misuse(f"--admission-url: {error}") from error


async def _write(host: Client, members: dict[str, Client], planned: Opening, wait_seconds: float) -> None:
    """Write everything: targets first, what calls the admission server last but for the door's own mark."""
    for name, manifests in planned.targets.items():
        with of_cluster(name):
            await write_into(members[name], manifests)
    source = members[planned.source]
    with of_cluster(planned.source):
        await write_into(source, planned.own)
    await write_into(host, planned.host)
    with of_cluster(planned.source):
        if planned.calling and not await wait_answering(source, wait_seconds):
            raise Failure(
                f"no pod of the admission server is available after {wait_seconds:g} s, so the API server is not told "
                "to call it yet; see `kubectl -n hanse-system get pods`, and run this again"
            )
        await write_into(source, planned.calling)
    await mark(host, planned.source, is_open=True)


async def mark(host: Client, cluster: str, *, is_open: bool, door: str = PODS_DOOR) -> bool:
    """Say on a Cluster whether a door of it is open; False where it says so already."""
    obj = await host.get(CLUSTERS, cluster)
    said = annotations_of(obj).get(DOORS_ANNOTATION, "")
    doors = set(words_of(said))
    wanted = doors | {door} if is_open else doors - {door}
    if wanted == doors:
        return False
    text = ",".join(sorted(wanted)) or None
    await host.patch(CLUSTERS, name_of(obj), {"metadata": {"annotations": {DOORS_ANNOTATION: text}}})
    return True
