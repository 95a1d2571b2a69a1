"""`hanse get`: objects over all clusters in one table, with the columns that each API server itself would print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import orjson

from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.doors import read_kinds
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.fleet import ask_members
from hanse.cli.following import Followed, Heard
from hanse.cli.naming import Named, kind_named, parse_named
from hanse.cli.output import FEDERATION, Column, output_option, show, table
from hanse.cli.running import run, until_signalled
from hanse.cli.speaking import kinds_alike, target_of
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, key_of, name_of
from hanse.kube.reflector import Scope
from hanse.kube.resources import Resource
from hanse.propagation.doors import Doors
from hanse.propagation.intent import Ref

_AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(slots=True)
class _Answers:
    columns: list[Column] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    objects: list[Obj] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Question:
    named: Named
    namespace: str
    labels: str = ""

    @property
    def where(self) -> str:
        """The namespace in words."""
        return f"namespace {self.namespace}" if self.namespace else "any namespace"


@click.command("get")
@click.argument("words", nargs=-1, required=True, metavar="KIND [NAME]")
@click.option("-n", "--namespace", default="default", help="The namespace to look in.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Look in every namespace.")
@click.option("-l", "--selector", "labels", default="", help="Only objects with these labels, as kubectl takes them.")
@click.option("-w", "--watch", is_flag=True, help="Go on, and print each line again that has changed.")
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    labels: str,
    watch: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Show objects of KIND in the federation and in every cluster, one table for all.

    \b
    Examples:
      hanse get deployments -n shop
      hanse get deploy/web -n shop -w      follow a rollout through the clusters
      hanse get fdeploy -n shop            federated objects, and their copies in the clusters
      hanse get pods -A -l app=web -o wide
      hanse get nodes

    A cluster that does not answer is a warning. The exit code is 1 if a named object is nowhere.
    """
    question = _Question(parse_named(words, "get"), "" if all_namespaces else namespace, labels)
    if question.named.name and labels:
        raise Misuse("a name and -l/--selector do not go together; leave one of them out")
    if watch and output not in ("table", "wide"):
        raise Misuse(f"-w prints tables only; leave out -o {output}")
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        if watch:
            run(lambda: until_signalled(_follow(endpoint, question, wide=output == "wide")))
            return
        answers = run(lambda: _collect(endpoint, question))
    _print(answers, question, output)


def _print(answers: _Answers, question: _Question, output: str) -> None:
    document = {"items": answers.objects, "unreachable": answers.silent}
    names = [f"{entry['cluster']}/{name_of(entry['object'])}" for entry in answers.objects]
    for cluster, why in answers.silent.items():
        click.echo(f"warning: {cluster}: {why}", err=True)
    kind, name = question.named.kind, question.named.name
    if answers.rows or (not name and output in ("json", "yaml", "name")):
        show(output, answers.columns, answers.rows, document, names)
        return
    if name:
        raise Failure(f"no {kind} named {name} in {question.where}, in the federation or in any cluster that answers")
    click.echo(f"no {kind} in {question.where}, in the federation or in any cluster that answers", err=True)


async def _follow(endpoint: Endpoint, question: _Question, *, wide: bool) -> None:
    """Print every line at first, and each again that has changed."""
    async with connected(endpoint) as host:
        asked = await _understood(host, question)
        name = f"metadata.name={question.named.name}" if question.named.name else ""
        # The labels of a federated object are its own, not those of its copies.
        labels = question.labels if asked.copies == asked.resource else ""
        scope = Scope(asked.namespace, labels, name, metadata_only=True)
        teller = Teller(many=asked.many, wide=wide)
        await Followed(host, asked.resource, scope, asked.ask, teller.tell, copies=asked.copies).run()


class Teller:
    """Prints what is new of each server's table; ages alone are nothing new."""

    def __init__(self, *, many: bool = False, wide: bool = False) -> None:
        self._many = many
        self._wide = wide
        self._before: dict[str, dict[tuple[str, ...], list[str]]] = {}
        self._silent: set[str] = set()
        self._widths: dict[str, int] = {}
        self._heading: list[Column] = []

    def tell(self, heard: Heard[Obj]) -> None:
        """Print what one server has to say, or that it says nothing."""
        if heard.answer is None:
            if heard.cluster not in self._silent:
                click.echo(f"warning: {heard.cluster}: {heard.why}", err=True)
            self._silent.add(heard.cluster)
            return
        self._silent.discard(heard.cluster)
        answers = _Answers()
        _take(answers, heard.cluster, heard.answer, many=self._many)
        fresh, now = news(answers.columns, answers.rows, self._before.get(heard.cluster, {}))
        self._before[heard.cluster] = now
        if fresh:
            text = table(answers.columns, fresh, wide=self._wide, widths=self._widths)
            headed = self._heading == answers.columns
            click.echo(text.partition("\n")[2] if headed else text, nl=False)
            self._heading = answers.columns


def news(
    columns: Sequence[Column], rows: Sequence[list[str]], before: Mapping[tuple[str, ...], list[str]]
) -> tuple[list[list[str]], dict[tuple[str, ...], list[str]]]:
    """Return the rows that differ from those before in more than their age, and all rows by what they are about."""
    titles = [column.title for column in columns]
    identity = [place for place, title in enumerate(titles) if title in ("CLUSTER", "NAMESPACE", "NAME")]
    telling = [place for place, title in enumerate(titles) if title != "AGE"]
    now = {tuple(row[place] for place in identity): row for row in rows}

    def told(row: list[str]) -> list[str]:
        return [row[place] for place in telling]

    return [row for key, row in now.items() if key not in before or told(before[key]) != told(row)], now


async def _collect(endpoint: Endpoint, question: _Question) -> _Answers:
    async with connected(endpoint) as host:
        return await _ask(host, question)


async def _ask(host: Client, question: _Question) -> _Answers:
    asked = await _understood(host, question)
    answers = _Answers()
    _take(answers, FEDERATION, await asked.ask(host), many=asked.many)
    found = await ask_members(host, await read_clusters(host), lambda each: asked.ask(each.client))
    for cluster, answer in found.items():
        if isinstance(answer, str):
            answers.silent[cluster] = answer
        else:
            _take(answers, cluster, answer, many=asked.many)
    return answers


@dataclass(slots=True)
class _Asked:
    """A question of which the kind is known; `many` asks for every namespace.

    Of a federated kind members are asked for its `copies`: those that are what federated objects are about, which the
    federation has named last.
    """

    question: _Question
    host: Client
    resource: Resource
    namespace: str
    many: bool
    doors: Doors
    about: frozenset[Key] = frozenset()

    @property
    def copies(self) -> Resource:
        """The kind that members hold."""
        return target_of(self.doors, Ref(self.resource, Key("any", "any"))).resource

    async def ask(self, client: Client) -> Obj:
        """Return one server's table."""
        if self.copies == self.resource:
            return await _table(client, self.resource, self.namespace, self.question)
        if client is self.host:
            told = await _table(client, self.resource, self.namespace, self.question)
            refs = (Ref(self.resource, key_of(row["object"])) for row in told.get("rows") or [])
            self.about = frozenset(target_of(self.doors, ref).key for ref in refs)
            return told
        told = await _table(client, self.copies, self.namespace, replace(self.question, labels=""))
        return {**told, "rows": [row for row in told.get("rows") or [] if key_of(row["object"]) in self.about]}


async def _understood(host: Client, question: _Question) -> _Asked:
    resource = await kind_named(host, question.named.kind)
    namespace = question.namespace if resource.namespaced else ""
    many = resource.namespaced and not namespace
    if many and question.named.name:
        raise Misuse("a name is looked for in one namespace; give -n instead of -A")
    doors = await read_kinds(host)
    alike = [] if "." in question.named.kind else kinds_alike(doors.resources, resource)
    found = [_Asked(question, host, kind, namespace, many, doors) for kind in dict.fromkeys((resource, *alike))]
    for asked in found if len(found) > 1 or found[0].copies != resource else ():
        # Who leaves the group out means whichever has objects.
        if (await asked.ask(host)).get("rows"):
            return asked
    return found[0]


async def _table(client: Client, resource: Resource, namespace: str, question: _Question) -> Obj:
    query: list[tuple[str, str]] = [("includeObject", "Object")]
    if question.labels:
        query.append(("labelSelector", question.labels))
    try:
        path = resource.path(namespace, question.named.name)
        body = await client.get_raw(path, accept=_AS_TABLE, query=tuple(query))
    except NotFound:
        return {}
    document: Obj = orjson.loads(body)
    return document


def _take(answers: _Answers, cluster: str, table: Obj, *, many: bool) -> None:
    """Add one server's table: versions of Kubernetes, and kinds, differ in their columns."""
    own = [Column("CLUSTER"), *([Column("NAMESPACE")] if many else [])]
    told: list[Any] = table.get("columnDefinitions") or []
    own += [Column(entry["name"].upper(), wide=bool(entry.get("priority"))) for entry in told]
    rows = table.get("rows") or []
    if rows or not answers.columns:
        _widen(answers, own)
    for row in rows:
        metadata = row["object"]["metadata"]
        cells = [cluster, *([metadata.get("namespace") or ""] if many else [])]
        cells += ["" if cell is None else str(cell) for cell in row["cells"]]
        named = dict(zip((column.title for column in own), cells, strict=False))
        answers.rows.append([named.get(column.title, "") for column in answers.columns])
        metadata.pop("managedFields", None)
        answers.objects.append({"cluster": cluster, "object": row["object"]})


def _widen(answers: _Answers, own: Sequence[Column]) -> None:
    """Give the table the columns that it does not have yet, before the age, which stays last of the narrow ones."""
    known = [column.title for column in answers.columns]
    fresh = [column for column in own if column.title not in known]
    if not fresh:
        return
    place = known.index("AGE") if "AGE" in known else len(known)
    wide = [column for column in fresh if column.wide]
    narrow = [column for column in fresh if not column.wide]
    answers.columns[place:place] = narrow
    answers.columns += wide
    for row in answers.rows:
        row[place:place] = [""] * len(narrow)
        row += [""] * len(wide)
