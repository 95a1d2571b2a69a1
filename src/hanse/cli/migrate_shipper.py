"""`hanse migrate shipper`: take over a Shipper where it ran, without touching what runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.control_plane import prepare_host, serve_applications
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.migrating import members_of
from hanse.cli.migrating_shipper import Migration, read_cluster_plans, read_migration, take_over, who_runs
from hanse.cli.output import FEDERATION, Column, output_option, show
from hanse.cli.taking_over import ROUNDS, Asked, Ways, converse, keep_plain_objects
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import key_of, name_of
from hanse.rollouts.migration import CopyPlan, ReleasePlan, Step

_COLUMNS = (Column("OBJECT"), Column("CLUSTER"), Column("STATE"), Column("NOTE"))
_REMOVED = "to be removed"


@click.command("shipper")
@click.option("--dry-run", is_flag=True, help="Say what would be taken over, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Do not look whether Shipper still runs.")
@host_options
@output_option()
def shipper(
    dry_run: bool,
    yes: bool,
    force: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Take over a Shipper that was stopped; its management cluster becomes the federation's host.

    Its clusters become members, and its releases are taken over as they run: no chart is rendered, no object is
    recreated and no pod restarts. Capacity and traffic stay as they are. May be repeated at any point.
    """
    asked = Asked(dry_run, yes, force, output)
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
    converse(
        asked,
        Ways(
            lambda: _require_stopped(endpoint),
            lambda: _rehearse(endpoint),
            lambda: _migrate(endpoint),
            _show,
            _summary,
        ),
    )


async def _require_stopped(endpoint: Endpoint) -> None:
    async with connected(endpoint) as host:
        if told := await who_runs(host):
            raise Failure(f"Shipper still runs: {told} (or give --force, and the two write against each other)")


async def _rehearse(endpoint: Endpoint) -> Migration:
    async with connected(endpoint) as host:
        clusters = await read_cluster_plans(host)
        async with members_of(host, clusters) as members:
            return await read_migration(host, clusters, members)


async def _migrate(endpoint: Endpoint) -> Migration:
    async with connected(endpoint) as host:
        return await migrate(host)


async def migrate(host: Client) -> Migration:
    """Take everything over; returns what is found then."""
    await read_cluster_plans(host)
    await prepare_host(host)
    await serve_applications(host)
    host.discovery.forget()
    await keep_plain_objects(host)
    for _ in range(ROUNDS):
        clusters = await read_cluster_plans(host)
        async with members_of(host, clusters) as members:
            migration = await read_migration(host, clusters, members)
            if migration.is_done:
                break
            await take_over(host, migration, members)
    return migration


def _show(output: str, migration: Migration, done: bool) -> None:
    document = {
        "clusters": [
            {"name": each.name, "state": each.state, **({"why": each.why} if each.why else {})}
            for each in migration.clusters
        ],
        "definitions": [{"name": name_of(each.wanted), "state": each.step.value} for each in migration.definitions],
        "webhooks": [{"name": name_of(each), "state": _REMOVED} for each in migration.webhooks],
        "releases": [_document(each) for each in migration.releases],
        "done": migration.is_done,
    }
    names = [f"release/{name_of(each.release)}" for each in migration.releases]
    show(output, _COLUMNS, list(_rows(migration)), document, names)
    if output in ("table", "wide"):
        click.echo(_summary(migration) if done else f"\n{_outlook(migration)}")


def _rows(migration: Migration) -> Iterator[list[str]]:
    for webhook in migration.webhooks:
        why = "nobody answers for it any more, and it would refuse every change"
        yield [f"validatingwebhookconfiguration/{name_of(webhook)}", FEDERATION, _REMOVED, why]
    for definition in migration.definitions:
        if definition.step is Step.TAKE:
            why = "Hanse's definition takes its place; what is stored stays"
            yield [f"customresourcedefinition/{name_of(definition.wanted)}", FEDERATION, "to be replaced", why]
    for cluster in migration.clusters:
        yield [f"cluster/{cluster.name}", FEDERATION, cluster.state, cluster.why]
    for each in migration.releases:
        yield [f"release/{key_of(each.release)}", FEDERATION, each.step.value, each.why]
        for copy in each.copies:
            title = f"{copy.resource.plural}/{copy.key}"
            yield [title, copy.cluster, "to be made" if copy.missing else each.step.value, _note(copy)]


def _note(copy: CopyPlan) -> str:
    notes = ["it is missing there, and is made once Hanse runs"] if copy.missing else []
    if copy.differs:
        notes.append(f"not as the release wants it, and put right once Hanse runs: {', '.join(copy.differs)}")
    if copy.patch is not None:
        notes.append("its anchor owns it no longer, and its fields are no longer Shipper's")
    return "; ".join(notes)


def _document(each: ReleasePlan) -> dict[str, Any]:
    return {
        "namespace": key_of(each.release).namespace,
        "name": key_of(each.release).name,
        "state": each.step.value,
        **({"why": each.why} if each.why else {}),
        "objects": [
            {
                "cluster": copy.cluster,
                "kind": copy.resource.kind,
                "name": copy.key.name,
                **({"missing": True} if copy.missing else {}),
                **({"differs": list(copy.differs)} if copy.differs else {}),
            }
            for copy in each.copies
        ],
    }


def _counted(migration: Migration, step: Step) -> int:
    return sum(each.step is step for each in migration.releases)


def _outlook(migration: Migration) -> str:
    take, have, leave = (_counted(migration, step) for step in Step)
    copies = sum(len(each.copies) for each in migration.releases)
    return (
        f"{take} releases with {copies} objects in {len(migration.clusters)} clusters would be taken over, "
        f"{have} are Hanse's already, {leave} are left alone"
    )


def _summary(migration: Migration) -> str:
    have, leave = _counted(migration, Step.HAVE), _counted(migration, Step.LEAVE)
    return (
        f"{have} releases in {len(migration.clusters)} clusters are Hanse's now, {leave} are left alone; "
        "start `hanse controller` on this host"
    )
