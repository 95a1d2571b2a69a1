"""`hanse cluster`: break simulated clusters on purpose, see what is broken, and mend them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hanse.cli.connection import data_dir_option
from hanse.cli.embedded import fault_commands as commands
from hanse.cli.failures import Misuse
from hanse.cli.output import output_option
from hanse.simulator.faults.durations import DURATION_RULE, parse_duration
from hanse.simulator.faults.values import KINDS, FaultError, Party, fault_from

F = TypeVar("F", bound=Callable[..., Any])


@click.group("cluster")
def command() -> None:
    """Break and mend simulated clusters.

    A fault is done to the cluster's own API server, so that every client meets it: the control plane, its nodes, and
    kubectl. It stays, also over a restart, until it is healed or its --for is over.
    """


def _breaking(function: F) -> F:
    """Add what every command has that breaks something."""
    about = "How long, such as 30s or 5m (default: until healed)."
    function = click.option("--for", "lasts", metavar="TIME", help=about)(function)
    return data_dir_option()(output_option()(function))


def _from_option(default: str) -> Callable[[F], F]:
    parties = click.Choice([str(party) for party in Party])
    about = f"Whom it concerns; may be given again (default: {default})."
    return click.option("--from", "parties", multiple=True, type=parties, help=about)


@command.command("fail")
@click.argument("name")
@click.option("--api-server", is_flag=True, help="Only its API server crashes; pods go on running.")
@click.option("--node", help="Only this node dies.")
@click.option("--zone", help="Only the nodes of this zone die.")
@_breaking
def fail(
    name: str,
    api_server: bool,
    node: str | None,
    zone: str | None,
    lasts: str | None,
    data_dir: Path | None,
    output: str,
) -> None:
    """Let a simulated cluster die: its API server, its nodes and its addresses stop. What it stored survives."""
    chosen = [option for option, given in (("--api-server", api_server), ("--node", node), ("--zone", zone)) if given]
    if len(chosen) > 1:
        raise Misuse(f"{chosen[1]}: cannot be given beside {chosen[0]}; break one thing after the other")
    entry: dict[str, Any] = {"fault": "down"}
    if api_server:
        entry = {"fault": "crash"}
    elif node:
        entry = {"fault": "lost-node", "node": node}
    elif zone:
        entry = {"fault": "lost-zone", "zone": zone}
    _add(name, entry, lasts, data_dir, output)


@command.command("slow")
@click.argument("name")
@click.option("--by", "delay", default=None, metavar="TIME", help="How much later (default: 1s, with --node 10s).")
@click.option("--node", help="Only this node is slow: pods start so much later on it.")
@_from_option("everybody")
@_breaking
def slow(
    name: str,
    delay: str | None,
    node: str | None,
    parties: tuple[str, ...],
    lasts: str | None,
    data_dir: Path | None,
    output: str,
) -> None:
    """Let a simulated cluster's API server, or one of its nodes, take longer over everything."""
    if node and parties:
        raise Misuse("--from: cannot be given beside --node; a slow node is slow for everybody")
    entry: dict[str, Any] = {"fault": "slow-node", "node": node} if node else {"fault": "latency"}
    if delay is not None:
        entry["delay"] = delay
    _add(name, _with_parties(entry, parties), lasts, data_dir, output)


@command.command("partition")
@click.argument("name")
@_from_option("control-plane")
@_breaking
def partition(name: str, parties: tuple[str, ...], lasts: str | None, data_dir: Path | None, output: str) -> None:
    """Let nothing pass between a simulated cluster's API server and the control plane, its users or its nodes."""
    _add(name, _with_parties({"fault": "partition"}, parties), lasts, data_dir, output)


@command.command("break")
@click.argument("name")
@click.argument("fault", type=click.Choice(tuple(KINDS)), metavar="FAULT")
@click.argument("parameters", nargs=-1, metavar="[PARAMETER=VALUE]…")
@_breaking
def break_(
    name: str, fault: str, parameters: tuple[str, ...], lasts: str | None, data_dir: Path | None, output: str
) -> None:
    """Do any fault to a simulated cluster, with its parameters; `hanse cluster kinds` lists them.

    For example: hanse cluster break eu-west errors rate=0.3 from=users --for 1m
    """
    entry: dict[str, Any] = {"fault": fault}
    for given in parameters:
        key, equals, value = given.partition("=")
        if not equals or not value:
            raise Misuse(f"PARAMETER: {given!r} must be NAME=VALUE, such as rate=0.3")
        entry[key] = _parameter(key, value)
    _add(name, entry, lasts, data_dir, output)


@command.command("heal")
@click.argument("name", required=False)
@click.argument("fault", required=False, type=click.Choice(tuple(KINDS)), metavar="[FAULT]")
@click.option("--node", help="Only what is wrong with this node.")
@click.option("--zone", help="Only what is wrong with this zone.")
@click.option("--all", "everything", is_flag=True, help="Every cluster.")
@data_dir_option()
@output_option()
def heal(
    name: str | None,
    fault: str | None,
    node: str | None,
    zone: str | None,
    everything: bool,
    data_dir: Path | None,
    output: str,
) -> None:
    """Mend a simulated cluster, wholly or of one fault; it goes on from what it stored."""
    if everything == (name is not None):
        raise Misuse("NAME: give the name of one cluster, or --all")
    commands.heal(name, fault, node or zone, data_dir, output)


@command.command("faults")
@click.argument("name", required=False)
@data_dir_option()
@output_option()
def faults(name: str | None, data_dir: Path | None, output: str) -> None:
    """List what is broken at this moment, in one simulated cluster or in all."""
    commands.show_faults(name, data_dir, output)


@command.command("kinds")
@output_option()
def kinds(output: str) -> None:
    """List the faults that a simulated cluster can have, and their parameters."""
    commands.show_kinds(output)


def _add(name: str, entry: dict[str, Any], lasts: str | None, data_dir: Path | None, output: str) -> None:
    try:
        fault = fault_from(entry, where=entry["fault"])
        seconds = None if lasts is None else parse_duration(lasts)
    except FaultError as error:
        raise Misuse(str(error)) from error
    except ValueError:
        seconds = 0.0
    if seconds is not None and seconds <= 0:
        raise Misuse(f"--for: {DURATION_RULE}, not {lasts!r}")
    commands.add(name, fault, seconds, data_dir, output)


def _with_parties(entry: dict[str, Any], parties: tuple[str, ...]) -> dict[str, Any]:
    return {**entry, "from": list(parties)} if parties else entry


def _parameter(key: str, value: str) -> Any:
    """Read a parameter as a file would have it: lists by commas, shares as numbers."""
    if key == "from":
        return value.split(",")
    try:
        return float(value) if key == "rate" else value
    except ValueError:
        return value
