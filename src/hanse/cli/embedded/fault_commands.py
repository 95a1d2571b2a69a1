"""What the commands of `hanse cluster` do: find the federation, change what is broken, see it happen, say so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from hanse.api.clusters import CLUSTERS, parse_cluster
from hanse.api.names import FAULT_ANNOTATION
from hanse.cli.connection import connect_member, connected, default_data_dir, host_endpoint
from hanse.cli.embedded.breaking import Change, change_faults, faults_of
from hanse.cli.embedded.folder import Folder, Record, running_record
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import Column, show
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, annotations_of, name_of
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Unreachable
from hanse.simulator.faults.durations import duration_text
from hanse.simulator.faults.values import KINDS, Fault, FaultError, Party, lasting, with_fault
from hanse.simulator.nodes.machines import ZONE, machines_of
from hanse.simulator.settings import ClusterSettings, parse_clusters

_PATIENCE_SECONDS = 30.0
_PROBE_SECONDS = 2.0
_KILLING = frozenset({"down", "crash"})
_HIDING = frozenset({"hang", "partition", "latency"})


def add(name: str, fault: Fault, lasts: float | None, data_dir: Path | None, output: str) -> None:
    """Break a cluster, and return once it is broken."""
    folder, record = _federation(data_dir)
    _check_place(_settings(record, name), fault)

    def change(present: tuple[Fault, ...], now: float) -> tuple[Fault, ...]:
        return with_fault(present, lasting(fault, lasts, now))

    endpoint = _endpoint(folder, record)
    with one_sentence():
        faults = run(lambda: _change(endpoint, name, change))
    until = f" for {duration_text(lasts)}" if lasts is not None else ""
    sentence = f"cluster {name} has the fault {fault}{until}; `hanse cluster heal {name}` brings it back"
    if fault.kind == "down":
        sentence = f"cluster {name} has failed{until}; `hanse cluster heal {name}` brings it back"
    _tell(output, {name: faults}, sentence)


def heal(name: str | None, kind: str | None, place: str | None, data_dir: Path | None, output: str) -> None:
    """Mend one cluster or all, of everything or of one fault, and return once they answer again."""
    folder, record = _federation(data_dir)
    names = [_settings(record, name).name] if name else [entry["name"] for entry in record.clusters]

    def rest(present: tuple[Fault, ...], _now: float) -> tuple[Fault, ...]:
        return tuple(one for one in present if (kind and one.kind != kind) or (place and one.place != place))

    endpoint = _endpoint(folder, record)
    told = {}
    with one_sentence():
        for each in names:
            told[each] = run(lambda each=each: _change(endpoint, each, rest))  # type: ignore[misc]
    left = {each: faults for each, faults in told.items() if faults}
    sentence = f"cluster {name} is back" if name else "every cluster is back"
    if left:
        sentence = "; ".join(f"cluster {each} still has {_listed(faults)}" for each, faults in left.items())
    _tell(output, told, sentence)


def show_faults(name: str | None, data_dir: Path | None, output: str) -> None:
    """Print what is broken."""
    folder, record = _federation(data_dir)
    if name is not None:
        _settings(record, name)
    endpoint = _endpoint(folder, record)
    with one_sentence():
        clusters = run(lambda: _read(endpoint))
    told: dict[str, tuple[Fault, ...]] = {}
    for obj in clusters:
        if name in (None, name_of(obj)) and annotations_of(obj).get(FAULT_ANNOTATION):
            try:
                told[name_of(obj)] = faults_of(obj, _now())
            except FaultError as error:
                click.echo(f"cluster {name_of(obj)}: its annotation {FAULT_ANNOTATION} {error}", err=True)
    columns = (Column("CLUSTER"), Column("FAULT"), Column("FOR"), Column("WHAT IT DOES", wide=True))
    rows = [
        [each, str(fault), _remaining(fault), KINDS[fault.kind].about]
        for each, faults in told.items()
        for fault in faults
    ]
    document = {"faults": [{"cluster": each, **one.as_mapping()} for each, faults in told.items() for one in faults]}
    if not rows and output in ("table", "wide"):
        click.echo("nothing is broken")
        return
    show(output, columns, rows, document, [each for each, faults in told.items() if faults])


def show_kinds(output: str) -> None:
    """Print the faults that there are."""
    rows, document = [], []
    for name, kind in KINDS.items():
        parameters = {kind.place: "NAME"} if kind.place else {}
        if kind.span:
            parameters[kind.span[0]] = duration_text(kind.span[1])
        if kind.rate is not None:
            parameters["rate"] = f"{kind.rate:g}"
        if kind.parties is not None:
            parameters["from"] = ",".join(kind.parties) if set(kind.parties) != set(Party) else "everybody"
        told = " ".join(f"{key}={value}" for key, value in parameters.items())
        rows.append([name, told, kind.about])
        document.append({"fault": name, "parameters": parameters, "about": kind.about})
    columns = (Column("FAULT"), Column("PARAMETERS"), Column("WHAT IT DOES"))
    show(output, columns, rows, {"kinds": document}, KINDS)


def _federation(data_dir: Path | None) -> tuple[Folder, Record]:
    folder = Folder(data_dir or default_data_dir())
    return folder, running_record(folder)


def _endpoint(folder: Folder, record: Record) -> Endpoint:
    with one_sentence():
        return host_endpoint(folder.path, None, record.name)


def _settings(record: Record, name: str) -> ClusterSettings:
    for settings in parse_clusters({"clusters": record.clusters}):
        if settings.name == name:
            return settings
    known = ", ".join(entry["name"] for entry in record.clusters)
    raise Misuse(f"NAME: there is no simulated cluster {name!r} here; there are {known}")


def _check_place(settings: ClusterSettings, fault: Fault) -> None:
    machines = machines_of(settings)
    if KINDS[fault.kind].place == "node" and fault.place not in machines:
        known = ", ".join(machines)
        raise Misuse(f"node: cluster {settings.name} has no node {fault.place!r}; it has {known}")
    zones = sorted({machine.labels[ZONE] for machine in machines.values() if ZONE in machine.labels})
    if KINDS[fault.kind].place == "zone" and fault.place not in zones:
        raise Misuse(f"zone: cluster {settings.name} has no zone {fault.place!r}; it has {', '.join(zones) or 'none'}")


async def _read(endpoint: Endpoint) -> list[Obj]:
    async with connected(endpoint) as host:
        return sorted((await host.list(CLUSTERS)).items, key=name_of)


async def _change(endpoint: Endpoint, name: str, change: Change) -> tuple[Fault, ...]:
    before: tuple[Fault, ...] = ()

    def noticed(present: tuple[Fault, ...], now: float) -> Iterable[Fault]:
        nonlocal before
        before = present
        return change(present, now)

    async with connected(endpoint) as host:
        try:
            written, faults = await change_faults(host, name, noticed)
        except NotFound:
            raise Failure(f"cluster {name} is not a member of the federation any more; join it again") from None
        member = await connect_member(host, parse_cluster(written))
        try:
            await _await_effect(member.client, name, before, faults)
        finally:
            await member.client.close()
        return faults


async def _await_effect(member: Client, name: str, before: Sequence[Fault], faults: Sequence[Fault]) -> None:
    """Wait until the API server is gone, or back; where a fault keeps us from asking, nothing is waited for."""
    dead = any(fault.kind in _KILLING for fault in faults)
    if dead == any(fault.kind in _KILLING for fault in before):
        return
    if not dead and any(fault.kind in _HIDING and fault.concerns(Party.USERS) for fault in faults):
        return
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while await _answers(member) == dead:
                await member.runtime.sleep(0.05)
    except TimeoutError:
        wish = "stop" if dead else "come back"
        raise Failure(f"cluster {name} did not {wish} within {_PATIENCE_SECONDS:g} s") from None


async def _answers(client: Client) -> bool:
    try:
        await client.version(timeout=_PROBE_SECONDS)
    except Unreachable:
        return False
    except ApiError:
        return True
    return True


def _tell(output: str, told: dict[str, tuple[Fault, ...]], sentence: str) -> None:
    if output in ("table", "wide"):
        click.echo(sentence)
        return
    document = {
        "clusters": [{"name": name, "faults": [one.as_mapping() for one in faults]} for name, faults in told.items()]
    }
    show(output, (), (), document, told)


def _listed(faults: Sequence[Fault]) -> str:
    return " and ".join(str(fault) for fault in faults)


def _now() -> float:
    from hanse.kube.runtime import SystemRuntime

    return SystemRuntime().now()


def _remaining(fault: Fault) -> str:
    if fault.until is None:
        return "until healed"
    return f"until {timestamp(fault.until)}"
