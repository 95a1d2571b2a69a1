"""`hanse composite test`: a hook called on YAML files, and what would follow from its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from hanse.cli.composite_asking import Given, opening_here, rehearse
from hanse.cli.composite_files import read_local
from hanse.cli.composite_rehearsing import Effect, Rehearsal
from hanse.cli.failures import Failure, Misuse
from hanse.cli.output import echo
from hanse.cli.running import run
from hanse.cli.yaml_files import read_manifests
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("test")
@click.option(
    "-f",
    "--filename",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="The controller: a YAML file, a folder of them, or a Python file with its hooks.",
)
@click.option(
    "--parent", required=True, type=click.Path(path_type=Path), help="A file with the parent (or decorated object)."
)
@click.option("--children", multiple=True, type=click.Path(path_type=Path), help="Files with the children it has.")
@click.option(
    "--related",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Files with the objects from which customize chooses; the inputs of a MapController.",
)
@click.option(
    "--cluster",
    "clusters",
    multiple=True,
    metavar="NAME[:LABEL=VALUE,...]",
    help="A cluster in which children may be; may be repeated.",
)
@click.option("--finalizing", is_flag=True, help="Call the finalize hook, as for a parent that is deleted.")
@click.option("--settled", is_flag=True, help="Fail if anything would change: the children are what the hook wants.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", help="How to print.")
def command(
    filename: Path,
    parent: Path,
    children: tuple[Path, ...],
    related: tuple[Path, ...],
    clusters: tuple[str, ...],
    finalizing: bool,
    settled: bool,
    output: str,
) -> None:
    """Call the hook of a controller on files, and show what it would change; no cluster is asked.

    \b
    Examples:
      hanse composite test -f web/ --parent web/parent.yaml
      hanse composite test -f hook.py --parent parent.yaml --children children/ --settled

    Code that the controller has in a ConfigMap is taken from a file of the key's name beside it, if there is one. The
    exit code is 0 if the answer can be carried out, 1 if the hook fails or its answer is refused, 2 if a file is wrong.
    """
    local = read_local(filename, "-f")
    given = Given(
        parent=_only(parent),
        children=tuple(read_manifests(children, "--children")),
        related=tuple(read_manifests(related, "--related")),
        finalizing=finalizing,
        fleet=dict(map(_cluster, clusters)) if clusters else None,
    )
    rehearsals = run(lambda: rehearse(local, given, opening_here(local, given, SystemRuntime())))
    _show(rehearsals, output)
    if settled and not all(each.settled for each in rehearsals):
        raise Failure("the hook would change something, and --settled says that it should not")


def _cluster(said: str) -> tuple[str, dict[str, str]]:
    """Read a cluster and its labels; raises Misuse."""
    name, _, labels = said.partition(":")
    words = [word.partition("=") for word in labels.split(",") if word]
    if not name or not all(key and mark for key, mark, _ in words):
        raise Misuse(f"--cluster: {said!r} names no cluster; write for example eu or eu:continent=europe")
    return name, {key: value for key, _, value in words}


def _only(path: Path) -> Obj:
    found = list(read_manifests([path], "--parent"))
    if len(found) != 1:
        raise Misuse(f"--parent: {path} must have one object; it has {len(found)}")
    return found[0]


def _show(rehearsals: Sequence[Rehearsal], output: str) -> None:
    if output == "text":
        echo("\n".join(_told(rehearsals)) + "\n")
        return
    document = {"items": [_document(each) for each in rehearsals]}
    if output == "json":
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
        return
    import yaml

    click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)


def _told(rehearsals: Sequence[Rehearsal]) -> Iterator[str]:
    for each in rehearsals:
        yield f"for {each.title}:"
        for step in each.steps:
            yield f"{step.title} {step.effect}"
            yield from (_coloured(line) for line in step.diff.splitlines()[2:])
            yield ""
        yield from (f"note: {note}" for note in each.notes)
    yield _summary(rehearsals)


def _summary(rehearsals: Sequence[Rehearsal]) -> str:
    counts = Counter(step.effect for each in rehearsals for step in each.steps)
    parts = [f"{counts[effect]} {effect}" for effect in Effect if effect is not Effect.WRITTEN and counts[effect]]
    parts += ["the status written"] if counts[Effect.WRITTEN] else []
    return f"{', '.join(parts)}." if parts else "Nothing would change."


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def _document(rehearsal: Rehearsal) -> dict[str, Any]:
    return {
        "for": rehearsal.title,
        "answer": rehearsal.answer,
        "changes": [{"object": step.title, "effect": str(step.effect), "diff": step.diff} for step in rehearsal.steps],
        "notes": list(rehearsal.notes),
    }
