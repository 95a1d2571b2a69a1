"""The clusters that opening or closing a door writes into, each signed in to as somebody who may."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.cli.connection import connect_member, connected
from hanse.cli.failures import Failure, Misuse
from hanse.clusters.account import CLUSTER_ROLES, Account
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Forbidden, NotFound
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import Obj, dig, name_of, uid_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.transport import Unreachable
from hanse.pods.installing.opening import Identity

_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)


@dataclass(frozen=True, slots=True)
class SignIn:
    """A kubeconfig of somebody who may write into clusters; where it has none of them, Hanse's own credentials do.

    `context` is that of `cluster`; the contexts of others are called as they are.
    """

    kubeconfig: Path | None = None
    context: str = ""
    cluster: str = ""

    def context_of(self, name: str, config: Kubeconfig) -> str | None:
        """Return the context for a cluster, None where the file has none."""
        if name == self.cluster and self.context:
            return self.context
        return name if name in config.context_names() else None


@asynccontextmanager
async def signed_in(host: Client, clusters: Iterable[Cluster], how: SignIn) -> AsyncIterator[dict[str, Client]]:
    """Open a client to each of these clusters."""
    config = Kubeconfig.load(how.kubeconfig) if how.kubeconfig is not None else None
    async with AsyncExitStack() as stack:
        found: dict[str, Client] = {}
        for cluster in clusters:
            context = how.context_of(cluster.name, config) if config is not None else None
            if config is not None and context is not None:
                client = await stack.enter_async_context(connected(config.endpoint(context)))
                await _require_same(client, cluster, context)
                found[cluster.name] = client
            else:
                member = await connect_member(host, cluster)
                stack.push_async_callback(member.client.close)
                found[cluster.name] = member.client
        yield found


async def _require_same(client: Client, cluster: Cluster, context: str) -> None:
    """Refuse a context that leads to another cluster than the registered one: rights would be given away there."""
    try:
        system = await client.find(NAMESPACES, "kube-system")
    except Forbidden:
        system = None
    if system is not None and cluster.uid and uid_of(system) != cluster.uid:
        raise Misuse(f"--kubeconfig: its context {context} leads to another cluster than the member {cluster.name}")


@contextmanager
def of_cluster(name: str) -> Iterator[None]:
    """Say of which cluster a failure is, and what to do where Hanse's own account may not."""
    try:
        yield
    except Forbidden as error:
        raise Failure(
            f"cluster {name}: {error}; give a kubeconfig of somebody who may with --kubeconfig, or apply there what "
            "--dry-run prints"
        ) from error
    except (ApiError, Unreachable, TimeoutError) as error:
        raise Failure(f"cluster {name}: {error or 'it took too long'}") from error


async def registered(host: Client) -> dict[str, Obj]:
    """Return every Cluster by its name."""
    return {name_of(obj): obj for obj in (await host.list(CLUSTERS)).items}


def require_cluster(name: str, known: dict[str, Obj], option: str) -> Cluster:
    """Return a registered cluster that Hanse reaches itself; raises Failure."""
    if name not in known:
        raise Failure(f"{option}: no cluster {name} is a member of the federation; `hanse clusters` lists them")
    cluster = parse_cluster(known[name])
    if cluster.pull:
        raise Failure(
            f"{option}: cluster {name} fetches its work by an agent; only clusters that Hanse reaches itself have doors"
        )
    return cluster


async def identity_in(host: Client, member: Client, cluster: Cluster) -> Identity:
    """Return who Hanse is in a cluster; `member` speaks as whoever opens the door."""
    try:
        role = await member.find(CLUSTER_ROLES, Account(cluster.name).role)
    except (Forbidden, NotFound):
        role = None
    if role is not None:
        return Identity(role)
    own = await connect_member(host, cluster)
    try:
        user = await _known_as(own.client)
    finally:
        await own.client.close()
    return Identity(None, (user,) if user else ())


async def _known_as(client: Client) -> str:
    """Return the user as whom a client is known to its server, "" where the server does not say."""
    review = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind, "metadata": {}}
    told = await client.create(_REVIEWS, review)
    return str(dig(told, "status", "userInfo", "username", default=""))
