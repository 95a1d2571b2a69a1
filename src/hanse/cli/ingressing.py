"""What the commands of `hanse ingress` do once their words are understood."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from hanse.cli.connection import connected
from hanse.cli.failures import Failure, Misuse
from hanse.kube.client import Client
from hanse.kube.documents import BadDocument, read_values
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.manifest import Obj, namespace_of
from hanse.kube.runtime import SystemRuntime
from hanse.services.ingress.balancer import GlobalBalancer, Refused, Standing, Wish
from hanse.services.ingress.copies import delete_copies, ensure_copies
from hanse.services.ingress.entrance import Reach
from hanse.services.ingress.gce.gathering import survey_cluster
from hanse.services.ingress.manifest import (
    IngressError,
    backends_of,
    default_backend,
    in_namespace,
    modern_ingress,
    of_many_clusters,
    with_static_ip,
)
from hanse.services.ingress.names import name_problem
from hanse.services.ingress.surveying import survey_problems


@dataclass(frozen=True, slots=True)
class Choice:
    """Which balancer is spoken to: Google's in a project, or else Hanse's own at the host of a federation."""

    project: str = ""
    host: Endpoint | None = None
    static_ip: str = ""
    reach: Reach = field(default_factory=Reach)


@dataclass(frozen=True, slots=True)
class Asked:
    """The words that create, delete and remove-clusters share."""

    name: str
    ingress: Path
    kubeconfig: Path
    contexts: tuple[str, ...] = ()
    namespace: str = ""
    force: bool = False


async def create(asked: Asked, choice: Choice, *, validate: bool) -> None:
    """Have the Ingress in every cluster and one load balancer before them."""
    if problem := name_problem(asked.name):
        raise Misuse(problem)
    ingress = _read(asked, choice, static_ip=True)
    async with _clusters(asked, choice.host) as clusters, _balancer(choice) as balancer:
        if validate and choice.project:
            await _validate(ingress, clusters)
        with _refusals("Error in creating load balancer"):
            await ensure_copies(ingress, clusters, force=asked.force, tell=click.echo)
            await balancer.ensure(Wish(asked.name, ingress, clusters), force=asked.force, tell=click.echo)
    click.echo("\nSuccess.")


async def delete(asked: Asked, choice: Choice) -> None:
    """Take the load balancer away, and only then the Ingress from the clusters: they own what it leads to."""
    ingress = _read(asked, choice)
    async with _clusters(asked, choice.host) as clusters, _balancer(choice) as balancer:
        await _take_away(asked, ingress, clusters, balancer.delete, "Error in deleting load balancer")


async def remove_clusters(asked: Asked, choice: Choice) -> None:
    """Lead nobody to some clusters any more, and take the Ingress away from them."""
    ingress = _read(asked, choice)
    async with _clusters(asked, choice.host) as clusters, _balancer(choice) as balancer:
        await _take_away(asked, ingress, clusters, balancer.remove_clusters, "Error removing clusters")


async def _take_away(
    asked: Asked, ingress: Obj, clusters: Mapping[str, Client], lead_away: Callable[..., Awaitable[None]], what: str
) -> None:
    """Have the balancer lead nobody there, then take the Ingress away; with force, go on where one of them fails."""
    problems: list[str] = []
    try:
        await lead_away(Wish(asked.name, ingress, clusters), force=asked.force, tell=click.echo)
    except Refused as error:
        problems.append(_go_on(error, what, force=asked.force))
    try:
        await delete_copies(ingress, clusters, tell=click.echo)
    except Refused as error:
        problems.append(_go_on(error, what, force=asked.force))
    if problems:
        raise Failure(f"{what}: {'; '.join(problems)}")


async def status(name: str, choice: Choice) -> Standing:
    """Return how a load balancer stands."""
    async with _balancer(choice) as balancer:
        with _refusals("Error in getting status of the load balancer"):
            found = await balancer.find(name)
    if found is None:
        raise Failure(f"Error in getting status of the load balancer: Load balancer {name} does not exist")
    return found


async def listed(choice: Choice) -> Sequence[Standing]:
    """Return every load balancer."""
    async with _balancer(choice) as balancer:
        with _refusals("Error listing load balancers"):
            return await balancer.list()


def _read(asked: Asked, choice: Choice, *, static_ip: bool = False) -> Obj:
    try:
        documents = read_values(asked.ingress.read_text(encoding="utf-8"), "it")
        ingress = in_namespace(modern_ingress(documents[0] if documents else None), asked.namespace)
        if not choice.project:
            backends_of(ingress)
            return ingress
        ingress = of_many_clusters(ingress)
        return with_static_ip(ingress, choice.static_ip) if static_ip else ingress
    except OSError as error:
        raise Misuse(f"error in unmarshalling the yaml file {asked.ingress}, err: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Misuse(f"error in unmarshalling the yaml file {asked.ingress}, err: it is not valid YAML") from error
    except (BadDocument, IngressError) as error:
        raise Misuse(f"error in unmarshalling the yaml file {asked.ingress}, err: {error}") from error


async def _validate(ingress: Obj, clusters: dict[str, Client]) -> None:
    with _refusals("Error in creating load balancer"):
        surveys = {name: await survey_cluster(name, client, ingress) for name, client in clusters.items()}
    found = survey_problems(surveys, backends_of(ingress), default_backend(ingress), namespace_of(ingress))
    if found:
        raise Failure(f"Error in creating load balancer: {'; '.join(found)}")


@asynccontextmanager
async def _clusters(asked: Asked, host: Endpoint | None) -> AsyncIterator[dict[str, Client]]:
    """Open a client for each context, in order of name; where none is named all of the file, but for the host's own."""
    config = Kubeconfig.load(asked.kubeconfig)
    found = {name: config.endpoint(name) for name in sorted(set(asked.contexts or config.context_names()))}
    if host is not None and not asked.contexts:
        found = {name: endpoint for name, endpoint in found.items() if endpoint.server != host.server}
    if not found:
        raise Misuse(f"kubeconfig {asked.kubeconfig} has no context of a cluster")
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(connected(endpoint)) for name, endpoint in found.items()}


@asynccontextmanager
async def _balancer(choice: Choice) -> AsyncIterator[GlobalBalancer]:
    if choice.project:
        import aiohttp

        from hanse.services.ingress.gce.balancer import GceBalancer
        from hanse.services.ingress.gce.compute import Compute, ComputeError
        from hanse.services.ingress.gce.tokens import google_api, token_source

        runtime = SystemRuntime()
        try:
            token = token_source(runtime)
        except ComputeError as error:
            raise Failure(str(error)) from error
        async with aiohttp.ClientSession() as session:
            yield GceBalancer(Compute(session, choice.project, token, runtime, api=google_api()))
    else:
        from hanse.services.ingress.portable import PortableBalancer

        if choice.host is None:
            raise Misuse("neither --gcp-project nor a federation was named")
        async with connected(choice.host) as host:
            yield PortableBalancer(host, choice.reach)


@contextmanager
def _refusals(doing: str) -> Iterator[None]:
    """Turn a refusal into one sentence for a person."""
    try:
        yield
    except Refused as error:
        raise Failure(f"{doing}: {error}") from error


def _go_on(error: Refused, doing: str, *, force: bool) -> str:
    """Return what went wrong where one goes on after it."""
    if not force:
        raise Failure(f"{doing}: {error}") from error
    click.echo(f"{error}. Continuing with force")
    return str(error)
