"""`hanse composite init`: a folder with a lambda controller that works, to be changed from there."""

from __future__ import annotations

import re
from pathlib import Path

import click

from hanse.api.metacontroller.kinds import LONGEST_CONTROLLER_NAME
from hanse.cli.composite_scaffold import Scaffold
from hanse.cli.failures import Failure, Misuse

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_GROUP = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


@click.command("init")
@click.argument("name")
@click.option("--kind", default="", metavar="KIND", help="The kind of the parents (default: NAME as one word).")
@click.option("--group", default="example.com", help="The API group of that kind.")
@click.option("--language", type=click.Choice(["python", "jsonnet"]), default="python", help="In what the hook is.")
@click.option("--namespace", default="default", help="Where the code is kept, and where the example is.")
@click.option("--folder", type=click.Path(path_type=Path), help="The folder to make (default: NAME).")
def command(name: str, kind: str, group: str, language: str, namespace: str, folder: Path | None) -> None:
    """Write a controller that works: a kind of parents, the controller, its hook, an example and a test.

    \b
    Example:
      hanse composite init web-app
      hanse composite test -f web-app --parent web-app/parent.yaml
      hanse composite run web-app

    Nothing that is there already is overwritten.
    """
    scaffold = _scaffold(name, kind, group, namespace)
    target = folder or Path(name)
    texts = scaffold.files(language)
    taken = [path for path in texts if (target / path).exists()]
    if taken:
        raise Misuse(f"--folder: {target} has {', '.join(taken)} already; name a new folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            (target / path).write_text(text, encoding="utf-8")
            if path.endswith(".sh"):
                (target / path).chmod(0o755)
    except OSError as error:
        raise Failure(f"{error.filename or target} cannot be written: {error.strerror}") from error
    click.echo(f"{target}: {', '.join(texts)}")
    click.echo(f"  hanse composite test -f {target} --parent {target}/parent.yaml   what the hook would do")
    click.echo(f"  kubectl apply -k {target} && kubectl apply -f {target}/parent.yaml   have it done")


def _scaffold(name: str, kind: str, group: str, namespace: str) -> Scaffold:
    if not _NAME.fullmatch(name) or len(name) > LONGEST_CONTROLLER_NAME:
        raise Misuse(
            f"{name!r} cannot be the name of a controller: give lower-case letters, digits and '-', at most "
            f"{LONGEST_CONTROLLER_NAME}, a letter first"
        )
    kind = kind or "".join(word.capitalize() for word in name.split("-"))
    if not _KIND.fullmatch(kind):
        raise Misuse(f"--kind: {kind!r} must be letters and digits, with a capital first")
    if not _GROUP.fullmatch(group):
        raise Misuse(f"--group: {group!r} must be a DNS domain, for example apps.example.com")
    if not _NAME.fullmatch(namespace):
        raise Misuse(f"--namespace: {namespace!r} must be lower-case letters, digits and '-'")
    return Scaffold(name, kind, group, namespace)
