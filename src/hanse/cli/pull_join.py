"""`hanse join --pull`: make clusters members that fetch their work, without ever signing in there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import yaml

from hanse.api.clusters import with_scheme
from hanse.cli.connection import connected
from hanse.cli.enrolment import Request, federated_kinds
from hanse.cli.failures import Failure, Misuse
from hanse.cli.running import run
from hanse.clusters.agent_access import agent_access_manifests, agent_token, join_by_agent, pull_cluster_manifest
from hanse.clusters.agent_deployment import agent_deployment_manifests
from hanse.clusters.host_credentials import write_privately
from hanse.clusters.joining import NotJoined, as_account
from hanse.clusters.kubeconfigs import minified
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, uid_of
from hanse.kube.resources import NAMESPACES


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """What is written for the agent: its kubeconfig of the host, and what runs it in its cluster."""

    kubeconfig: Path | None = None
    manifest: Path | None = None
    image: str = ""
    host_address: str = ""

    def __bool__(self) -> bool:
        return self != AgentFiles()

    def check(self, names: Sequence[str]) -> None:
        """Refuse what cannot be meant."""
        if len(names) > 1:
            raise Misuse("--pull: join one cluster at a time, since each has an agent of its own")
        if self.kubeconfig is None and self.manifest is None:
            raise Misuse("--pull: say where the agent's credentials go, with --agent-kubeconfig or --agent-manifest")
        if self.manifest is not None and not self.image:
            raise Misuse("--agent-manifest: needs --agent-image, an image in which `hanse` is the entry point")


def rehearsal(name: str, request: Request) -> dict[str, list[Obj]]:
    """Return what would be written to the host; nothing is written into the member."""
    return {"member": [], "host": [pull_cluster_manifest(name, request.labels), *agent_access_manifests(name)]}


def join_pulling(host_at: Endpoint, name: str, request: Request, files: AgentFiles) -> None:
    """Prepare the host, write the agent's files, and say what is to be done next."""
    new = run(lambda: _join(host_at, name, request, files))
    click.echo(
        f"cluster {name} may fetch its work" if new else f"cluster {name} was a member already; its token is new"
    )
    if files.kubeconfig is not None:
        click.echo(f"start its agent: hanse agent --kubeconfig MEMBER --host-kubeconfig {files.kubeconfig}")
    if files.manifest is not None:
        click.echo(f"start its agent in the cluster itself: kubectl apply -f {files.manifest}")


async def _join(host_at: Endpoint, name: str, request: Request, files: AgentFiles) -> bool:
    async with connected(host_at) as host:
        try:
            new = await join_by_agent(host, name, request.labels)
        except NotJoined as error:
            raise Failure(str(error)) from error
        token = await agent_token(host, name, request.token_seconds)
        endpoint = as_account(host_at, token)
        if files.host_address:
            endpoint = replace(endpoint, server=with_scheme(files.host_address).rstrip("/"))
        text = minified(name, endpoint)
        if files.kubeconfig is not None:
            _write(files.kubeconfig, text)
        if files.manifest is not None:
            federation = uid_of(await host.get(NAMESPACES, "kube-system"))
            kinds = request.wish(await federated_kinds(host)).kinds
            manifests = agent_deployment_manifests(name, federation, kinds, text, files.image)
            _write(files.manifest, yaml.safe_dump_all(manifests, sort_keys=False))
        return new


def _write(path: Path, text: str) -> None:
    try:
        write_privately(path, text)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from error
