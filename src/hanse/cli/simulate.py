"""`hanse simulate`: a whole federation on virtual time, used and broken by chance, that must be whole in the end."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hanse.cli.failures import Failure, Misuse
from hanse.cli.yaml_files import read_manifests, read_yaml
from hanse.simulator.faults.durations import DURATION_RULE, parse_duration

if TYPE_CHECKING:
    from hanse.cli.simulation.drill import Drill, Outcome
    from hanse.cli.simulation.event_log import Entry

_FAULT_EVERY_SECONDS = 30.0
_CLUSTERS: dict[str, Any] = {
    "clusters": [
        {"name": name, "region": name, "zones": [f"{name}-a", f"{name}-b"], "nodes": 3}
        for name in ("us-east", "eu-west", "ap-south")
    ]
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run shall be made of; it travels to other processes."""

    seconds: float
    clusters: Any
    faults: Any
    chance: bool
    manifests: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What is told of one seed."""

    seed: int
    problems: tuple[str, ...]
    digest: str
    virtual_seconds: float
    cpu_seconds: float


@click.command("simulate")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Everything that happens follows from it (default: 0)."
)
@click.option("--seeds", "count", type=click.IntRange(min=1), default=1, help="Run so many seeds, from --seed on.")
@click.option("--for", "lasts", default="4m", metavar="TIME", help="How long faults and users go on (default: 4m).")
@click.option(
    "--clusters",
    "clusters_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The clusters file of `hanse up`.",
)
@click.option(
    "--faults",
    "faults_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A schedule `faults: [{at, cluster, fault, for}]` (default: one made up from the seed).",
)
@click.option("--no-faults", is_flag=True, help="Let nothing break.")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Manifests to run on the federation, instead of users who make some up.",
)
@click.option(
    "--log", "log_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every change into a file."
)
@click.option("--twice", is_flag=True, help="Run each seed twice and compare the logs byte by byte.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Run so many seeds at a time (default: 1).")
def command(
    seed: int,
    count: int,
    lasts: str,
    clusters_file: Path | None,
    faults_file: Path | None,
    no_faults: bool,
    files: tuple[Path, ...],
    log_file: Path | None,
    twice: bool,
    jobs: int,
) -> None:
    """Rehearse a federation on virtual time: hours pass in seconds, and the same seed is the same run.

    API servers, simulated clusters and the control plane run in this process while users and faults do their worst.
    Then the faults end, and the federation must become whole: no replica lost, none left over.
    """
    if no_faults and faults_file:
        raise Misuse("--no-faults: cannot be given beside --faults")
    asked = _read(lasts, clusters_file, faults_file, not no_faults and faults_file is None, files)
    _be_quiet()
    if count == 1 and not twice:
        _run_one(asked, seed, log_file)
        return
    if log_file is not None:
        raise Misuse("--log: is for one seed; run the one in question with --seed")
    _run_many(asked, range(seed, seed + count), twice=twice, jobs=jobs)


def _read(
    lasts: str, clusters_file: Path | None, faults_file: Path | None, chance: bool, files: tuple[Path, ...]
) -> Asked:
    try:
        seconds = parse_duration(lasts)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise Misuse(f"--for: {DURATION_RULE}, not {lasts!r}")
    clusters = read_yaml(clusters_file, "--clusters") if clusters_file else _CLUSTERS
    faults = read_yaml(faults_file, "--faults") if faults_file else {"faults": []}
    manifests = tuple(read_manifests(files, "--filename"))
    asked = Asked(seconds, clusters, faults, chance, manifests)
    _drill(asked, 0)
    return asked


def _drill(asked: Asked, seed: int) -> Drill:
    from hanse.cli.simulation.drill import Drill
    from hanse.simulator.faults.chance import random_schedule
    from hanse.simulator.faults.schedule import parse_schedule
    from hanse.simulator.faults.values import FaultError
    from hanse.simulator.settings import SettingsError, parse_clusters

    try:
        clusters = parse_clusters(asked.clusters)
        schedule = parse_schedule(asked.faults, [one.name for one in clusters])
    except SettingsError as error:
        raise Misuse(f"--clusters: {error}") from error
    except FaultError as error:
        raise Misuse(f"--faults: {error}") from error
    if not clusters:
        raise Misuse("--clusters: clusters: must name at least one cluster")
    if asked.chance:
        schedule = random_schedule(
            seed, clusters, asked.seconds, count=max(1, int(asked.seconds / _FAULT_EVERY_SECONDS))
        )
    return Drill(seed, clusters, schedule, asked.seconds, asked.manifests)


def _run_one(asked: Asked, seed: int, log_file: Path | None) -> None:
    result, outcome = _outcome(asked, seed, listener=_show)
    if log_file is not None:
        try:
            log_file.write_text(outcome.log.text(), encoding="utf-8")
        except OSError as error:
            raise Failure(f"--log: {log_file} cannot be written: {error.strerror}") from error
    if result.problems:
        raise Failure(_complaint(result))
    click.echo(_line(result))


def _run_many(asked: Asked, seeds: range, *, twice: bool, jobs: int) -> None:
    failed = 0
    for result in _results([(asked, seed, twice) for seed in seeds], jobs):
        if result.problems:
            failed += 1
            click.echo(f"error: {_complaint(result)}", err=True)
        else:
            click.echo(_line(result))
    if failed:
        raise Failure(f"{failed} of {len(seeds)} seeds did not become whole; run one again to see why")
    click.echo(f"{len(seeds)} seeds became whole" + (", each the same twice" if twice else ""))


def _results(work: list[tuple[Asked, int, bool]], jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(_judge, work)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs, initializer=_be_quiet) as pool:
        yield from pool.map(_judge, work)


def _judge(work: tuple[Asked, int, bool]) -> Result:
    asked, seed, twice = work
    result, outcome = _outcome(asked, seed)
    if twice and not result.problems and (other := _outcome(asked, seed)[1].log.text()) != outcome.log.text():
        lines = zip(outcome.log.text().splitlines(), other.splitlines(), strict=False)
        different = next((f"{one!r} and {two!r}" for one, two in lines if one != two), "one log is longer")
        return Result(
            seed, (f"two runs differ: {different}",), result.digest, result.virtual_seconds, result.cpu_seconds
        )
    return result


def _outcome(asked: Asked, seed: int, listener: Any = None) -> tuple[Result, Outcome]:
    from hanse.cli.simulation.drill import run_drill
    from hanse.kube.errors import ApiError

    begin = time.process_time()
    try:
        outcome = run_drill(_drill(asked, seed), listener)
    except ApiError as error:
        raise Failure(f"the federation refused what was asked: {error}") from error
    spent = time.process_time() - begin
    return Result(seed, outcome.problems, outcome.log.digest(), outcome.seconds, spent), outcome


def _complaint(result: Result) -> str:
    more = len(result.problems) - 1
    also = f" (and {more} more)" if more else ""
    return f"seed {result.seed} did not become whole: {result.problems[0]}{also}; again: {_again(result.seed)}"


def _again(seed: int) -> str:
    """Return the command that runs one seed of this run again."""
    kept, words = [], iter(sys.argv[1:])
    for word in words:
        if word in ("--seed", "--seeds", "--jobs", "--log"):
            next(words, None)
        elif word != "--twice" and not word.startswith(("--seed=", "--seeds=", "--jobs=", "--log=")):
            kept.append(word)
    options = kept[kept.index("simulate") + 1 :] if "simulate" in kept else []
    return shlex.join(["hanse", "simulate", "--seed", str(seed), *options])


def _line(result: Result) -> str:
    return (
        f"seed {result.seed}: whole; {result.virtual_seconds:.0f} s of virtual time "
        f"in {result.cpu_seconds:.1f} s of processor time; log {result.digest}"
    )


def _show(entry: Entry) -> None:
    if entry.notable:
        click.echo(str(entry))


def _be_quiet() -> None:
    """The event log tells the story; the control plane's own log would interleave with it."""
    import logging

    from hanse.cli.running import log_to

    log_to(sys.stderr, level=logging.CRITICAL)
