"""`hanse migrate`: take over what another system runs, without touching what runs.

hanse migrate kubefed --dry-run     what would be taken over, where, and what differs
hanse migrate kubefed               the same, then asks, then does it
hanse migrate shipper               the same for a Shipper (cli/migrate_shipper.py)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hanse.api.kubefed.forms import FORM_D
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.control_plane import prepare_host
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.kubefed_leader import who_leads
from hanse.cli.migrate_shipper import shipper
from hanse.cli.migrating import Migration, members_of, read_cluster_plans, read_migration, take_over
from hanse.cli.output import FEDERATION, Column, output_option, show
from hanse.cli.taking_over import ROUNDS, Asked, Ways, converse, keep_plain_objects
from hanse.federated.migration import ObjectPlan, Step
from hanse.kube.kubeconfig import Endpoint

_COLUMNS = (Column("OBJECT"), Column("CLUSTER"), Column("STATE"), Column("NOTE"))


@click.group("migrate")
def command() -> None:
    """Take over what another system runs, without touching what runs."""


command.add_command(shipper)


@command.command("kubefed")
@click.option(
    "--kubefed-namespace",
    "namespace",
    default=FORM_D.system_namespace,
    show_default=True,
    help="The namespace of KubeFed's control plane.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be taken over, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Do not look whether KubeFed still runs.")
@host_options
@output_option()
def kubefed(
    namespace: str,
    dry_run: bool,
    yes: bool,
    force: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Take over a KubeFed whose controller-manager was stopped; its host becomes the federation's.

    Its clusters become members, and what it wrote into them becomes Hanse's copies by a write to their metadata alone:
    nothing is recreated and no pod restarts. The federated objects stay as they are. May be repeated at any point.
    """
    asked = Asked(dry_run, yes, force, output)
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
    converse(
        asked,
        Ways(
            lambda: _require_stopped(endpoint, namespace),
            lambda: _rehearse(endpoint, namespace),
            lambda: _migrate(endpoint, namespace),
            _show,
            _summary,
        ),
    )


async def _require_stopped(endpoint: Endpoint, namespace: str) -> None:
    async with connected(endpoint) as host:
        if told := await who_leads(host, namespace):
            raise Failure(f"KubeFed still runs: {told} (or give --force, and the two write against each other)")


async def _rehearse(endpoint: Endpoint, namespace: str) -> Migration:
    async with connected(endpoint) as host:
        clusters = await read_cluster_plans(host, namespace)
        async with members_of(host, clusters) as members:
            return await read_migration(host, clusters, members)


async def _migrate(endpoint: Endpoint, namespace: str) -> Migration:
    """Take everything over; returns what is found then."""
    async with connected(endpoint) as host:
        await prepare_host(host)
        await keep_plain_objects(host)
        for _ in range(ROUNDS):
            clusters = await read_cluster_plans(host, namespace)
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
        "objects": [_document(each) for each in migration.objects],
        "done": migration.is_done,
    }
    show(output, _COLUMNS, list(_rows(migration)), document, [_title(each) for each in migration.objects])
    if output in ("table", "wide"):
        click.echo(_summary(migration) if done else f"\n{_outlook(migration)}")


def _rows(migration: Migration) -> Iterator[list[str]]:
    for cluster in migration.clusters:
        yield [f"cluster/{cluster.name}", FEDERATION, cluster.state, cluster.why]
    for each in migration.objects:
        notes = "; ".join(each.notes)
        if not each.copies or notes:
            yield [_title(each), FEDERATION, (Step.HAVE if each.is_done else Step.TAKE).value, notes]
        for copy in each.copies:
            yield [_title(each), copy.cluster, copy.step.value, copy.why or _differs(copy.differs)]


def _document(each: ObjectPlan) -> dict[str, Any]:
    return {
        "kind": each.ref.resource.kind,
        "namespace": each.ref.key.namespace,
        "name": each.ref.key.name,
        "copies": [
            {
                "cluster": copy.cluster,
                "kind": copy.target.resource.kind,
                "state": copy.step.value,
                **({"why": copy.why} if copy.why else {}),
                **({"differs": list(copy.differs)} if copy.differs else {}),
            }
            for copy in each.copies
        ],
        "notes": list(each.notes),
    }


def _title(each: ObjectPlan) -> str:
    return f"{each.ref.resource.plural}/{each.ref.key}"


def _differs(fields: tuple[str, ...]) -> str:
    return f"differs from its template, and is put right once Hanse runs: {', '.join(fields)}" if fields else ""


def _counted(migration: Migration, step: Step) -> int:
    return sum(copy.step is step for each in migration.objects for copy in each.copies)


def _outlook(migration: Migration) -> str:
    take, have, leave = (_counted(migration, step) for step in Step)
    return (
        f"{take} objects in clusters would be taken over by a write to their metadata alone, "
        f"{have} are Hanse's already, {leave} are left alone"
    )


def _summary(migration: Migration) -> str:
    copies, left = _counted(migration, Step.HAVE), _counted(migration, Step.LEAVE)
    return (
        f"{len(migration.objects)} federated objects and {copies} objects in {len(migration.clusters)} clusters are "
        f"Hanse's now, {left} are left alone; start `hanse controller` on this host"
    )
