"""`hanse composite get`: the lambda controllers of the federation and of its clusters, and why one does not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION, parse_cluster, words_of
from hanse.api.metacontroller.kinds import COMPOSITES_DOOR
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.fleet import ask_members
from hanse.cli.offspring import parents_of, stored_controllers
from hanse.cli.output import FEDERATION, Column, output_option, show
from hanse.cli.printable import printable
from hanse.cli.running import run
from hanse.composite.spec import KindRef
from hanse.kube.conditions import find_condition
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, annotations_of, dig, name_of

_COLUMNS = (
    Column("CLUSTER"),
    Column("KIND"),
    Column("NAME"),
    Column("PARENTS"),
    Column("READY"),
    Column("WHY"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One controller in one cluster, "" for the federation; `ready` is "" where nobody has looked at it."""

    cluster: str
    kind: str
    name: str
    parents: tuple[str, ...]
    ready: str
    why: str

    def cells(self) -> list[str]:
        """Return it as a line of a table."""
        parents = ",".join(self.parents)
        cells = [self.cluster or FEDERATION, self.kind, self.name, parents, self.ready or "Unknown", self.why]
        return [printable(cell) for cell in cells]

    def document(self) -> dict[str, object]:
        """Return it for programs."""
        return {
            "cluster": self.cluster or FEDERATION,
            "kind": self.kind,
            "name": self.name,
            "parents": list(self.parents),
            "ready": self.ready or "Unknown",
            "why": self.why,
        }


@click.command("get")
@click.argument("name", required=False, default="")
@host_options
@output_option()
def command(name: str, data_dir: Path | None, kubeconfig: Path | None, context: str, output: str) -> None:
    """Show the controllers of the federation and of every cluster: what they are for, and why one does not run."""
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        rows, silent = run(lambda: _read(endpoint))
    rows = [row for row in rows if name in ("", row.name)]
    document = {"items": [row.document() for row in rows], "unreachable": dict(silent)}
    names = [f"{row.kind.lower()}/{row.name}" for row in rows]
    show(output, _COLUMNS, [row.cells() for row in rows], document, names)
    for cluster, why in silent.items():
        click.echo(f"cluster {cluster} did not tell: {printable(why)}", err=True)
    if name and not rows:
        raise Failure(f"no controller {name} is in the federation or in any cluster that answers")


async def _read(endpoint: Endpoint) -> tuple[list[Row], Mapping[str, str]]:
    async with connected(endpoint) as host:
        registered = {name_of(obj): obj for obj in (await host.list(CLUSTERS)).items}
        reached = [cluster for cluster in map(parse_cluster, registered.values()) if not cluster.pull]
        answers = await ask_members(host, reached, lambda member: stored_controllers(member.client))
        found = rows_of("", await stored_controllers(host), is_open=True)
        for name, answer in sorted(answers.items()):
            if not isinstance(answer, str):
                found += rows_of(name, answer, is_open=_is_open(registered[name]))
        return found, {name: answer for name, answer in sorted(answers.items()) if isinstance(answer, str)}


def rows_of(cluster: str, controllers: Sequence[Obj], *, is_open: bool) -> list[Row]:
    """Tell of the controllers of one cluster; while its door is closed nobody runs them."""
    return [_row(cluster, obj, is_open=is_open) for obj in controllers]


def _row(cluster: str, obj: Obj, *, is_open: bool) -> Row:
    told = find_condition(dig(obj, "status", "conditions"), "Ready") or {}
    ready, why = str(told.get("status", "")), str(told.get("message", ""))
    if not is_open:
        ready, why = "", f"the door of {cluster} is closed: `hanse doors enable composites --cluster {cluster}`"
    elif not told:
        why = "nobody has looked at it yet"
    shown = "" if ready == "True" else why
    return Row(cluster, str(obj["kind"]), name_of(obj), tuple(map(_group_resource, parents_of(obj))), ready, shown)


def _group_resource(ref: KindRef) -> str:
    group = ref.api_version.rpartition("/")[0]
    return f"{ref.resource}.{group}" if group else ref.resource


def _is_open(cluster: Obj) -> bool:
    return COMPOSITES_DOOR in words_of(annotations_of(cluster).get(DOORS_ANNOTATION, ""))
