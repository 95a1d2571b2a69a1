"""Why a pod runs in the cluster in which it really runs, told by the functions that decide it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.api.admiralty.keys import ELECT, ENABLED, NAMESPACE_LABEL, PROVIDER, PROVIDER_NAME, REASON, TARGET
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster
from hanse.api.plain_kinds import JOBS
from hanse.cli.connection import connect_member
from hanse.cli.elsewhere import FEDERATION_SOURCE, Elsewhere, Sight, read_elsewhere
from hanse.cli.explained import Explained
from hanse.cli.failures import Failure, Misuse
from hanse.cli.output import FEDERATION
from hanse.cli.pods import named_source
from hanse.cli.printable import printable
from hanse.cli.whereabouts import Whereabouts, telling, whereabouts
from hanse.clusters.access import Access
from hanse.clusters.roster import Attachment
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import Key, Obj, annotations_of, controller_of, dig, key_of, labels_of, name_of, namespace_of
from hanse.kube.resources import NAMESPACES, NODES, PODS
from hanse.pods.door import PodDoor
from hanse.pods.neighbourhood import Neighbourhood
from hanse.pods.placeholder.reading import target_of
from hanse.pods.placeholder.template import chaperon_key
from hanse.pods.rights import PodAccess
from hanse.pods.targets.reading import Target, read_target
from hanse.pods.targets.standing import Standing, cluster_of, standing_of_cluster
from hanse.propagation.door import Inputs
from hanse.propagation.explanation import ClusterExplanation, explain
from hanse.propagation.intent import Problem
from hanse.propagation.planning import UNSEEN, Observation, plan

_ORDINALS = {1: "first", 2: "second", 3: "third"}
# Every target is named, and a pod is one: what is said of the replicas of many reads oddly of it.
_NAMED = "It is named."
_OF_ONE = {
    "At most 1 cluster may be used, and others come first.": "A pod runs in one target, and another one comes first.",
    "Of 1 replicas it keeps the 1 that it has.": "It keeps what it has.",
}


@dataclass(frozen=True, slots=True)
class _Choices:
    """The targets of one source as its door and its engine see them, read once: nothing of them changes."""

    source: str
    found: tuple[Target, ...]
    values: tuple[Cluster, ...]
    around: Inputs
    """The other placeholders, and the Jobs that own some."""

    def targets(self) -> Sequence[TargetName]:
        """Return every target there is."""
        return [target.name for target in self.found]

    def is_self(self, name: str) -> bool:
        """Tell whether a target is the source itself."""
        return any(target.itself for target in self.found if str(target.name) == name)

    def is_leaving(self, name: str) -> bool:
        """Tell whether a target is being removed."""
        return any(target.leaving for target in self.found if str(target.name) == name)

    def clusters(self) -> Sequence[Cluster]:
        """Return what is known of every target."""
        return self.values

    def attach(self, work: Attachment) -> None:
        """Run nothing: a command has no members to run it for."""

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Tell nobody: nothing changes."""

    async def wait_synced(self) -> None:
        """Return at once: everything is known."""

    def registered(self, target: Target) -> str:
        """Return the registered cluster behind a target, "" where it is private."""
        return self.source if target.itself else target.cluster


@dataclass(frozen=True, slots=True)
class _Behind:
    """The registered clusters behind the targets of a source."""

    source: str
    clusters: Mapping[str, str]

    def registered(self, name: str) -> str:
        """Return the registered cluster behind a target, "" where there is none."""
        return self.clusters.get(name, "")


async def explain_pod(host: Client, key: Key, source: str | None) -> Explained | None:
    """Explain an elected pod; None where no cluster sends pods elsewhere. Raises Failure if it was not elected."""
    elsewhere = await read_elsewhere(host, key.namespace)
    chosen = None if source is None else named_source(source, elsewhere)
    found = [each for each in whereabouts(elsewhere, chosen) if each.name == key.name]
    if not found:
        await _refuse_ordinary(host, elsewhere, key, chosen)
        if elsewhere.doors:
            where = f" of namespace {key.namespace}" if key.namespace else ""
            raise Failure(
                f"no pod {key.name}{where} was elected to run elsewhere; `hanse pods -A` lists those that were"
            )
        return None
    one = _only(found)
    pod = next(each for each in elsewhere.seen[one.source].placeholders if key_of(each) == Key(one.namespace, one.name))
    choices = await _choices(host, elsewhere, one.source, pod)
    refused = await _refused(host, pod, choices, elsewhere)
    return told_of(one, pod, choices, _observed(pod, choices, elsewhere), refused, host.runtime.now())


def told_of(
    one: Whereabouts,
    pod: Obj,
    choices: _Choices,
    observed: Mapping[str, Observation],
    refused: Mapping[str, str],
    now: float,
) -> Explained:
    """Tell in one paragraph where a pod is and why, and of every target what would be decided of it now."""
    title = f"Pod {one.namespace}/{one.name} of {one.source or 'the federation'}"
    door = PodDoor(one.source, choices, Neighbourhood(one.source)).informed(choices.around)
    intent = door.translate(_unbound(pod))
    if isinstance(intent, Problem):
        why = printable(intent.message)
        return Explained(title, f"has no place: {why}", [], trouble=why)
    intent = intent.without(refused)
    planned = plan(intent, choices.values, observed, now=now)
    parts = [_in_words(each, one) for each in explain(intent, planned, observed)]
    # The notes of a decision advise on spreads, of which a pod, being one, has none.
    return Explained(title, paragraph(one, pod), parts)


def paragraph(one: Whereabouts, pod: Obj) -> str:
    """Say where a pod is, under which name, at which attempt, and why."""
    if not one.target:
        waits = printable(one.why) or "no target has answered yet"
        return f"has no place yet ({_attempt(one.attempt)} attempt): {waits}"
    state = (
        "is offered to" if not target_of(pod) else {"Succeeded": "ran in", "Failed": "ran in"}.get(one.phase, "runs in")
    )
    behind = f" (cluster {one.cluster})" if one.cluster and one.cluster != one.target else ""
    child = f" as {one.child}" if one.child else ""
    because = printable(telling(annotations_of(pod).get(REASON) or one.why))
    why = f", since {because}" if because else ""
    return f"{state} {one.target}{behind}{child}, at the {_attempt(one.attempt)} attempt{why}"


def not_elected(pod: Obj, namespace: Obj | None, *, door: bool) -> str:
    """Say why an ordinary pod was not sent elsewhere."""
    if ELECT not in annotations_of(pod):
        return f"it runs at home: its template has no annotation {ELECT}"
    if namespace is None or labels_of(namespace).get(NAMESPACE_LABEL) != ENABLED:
        where = namespace_of(pod)
        return f"it runs at home: its namespace {where} has no label {NAMESPACE_LABEL}={ENABLED}"
    if not door:
        return "it runs at home: pods of this cluster do not run elsewhere; `hanse doors enable pods` lets them"
    return "it runs at home: it was made before the door was open; delete it, and its owner makes another one"


def _only(found: Sequence[Whereabouts]) -> Whereabouts:
    if len(found) == 1:
        return found[0]
    sources = {each.source or FEDERATION for each in found}
    if len(sources) > 1:
        raise Misuse(f"elected pods of that name are in {', '.join(sorted(sources))}; choose one with --source")
    names = ", ".join(sorted(each.namespace for each in found))
    raise Misuse(f"elected pods of that name are in the namespaces {names}; choose one with -n")


async def _refuse_ordinary(host: Client, elsewhere: Elsewhere, key: Key, source: str | None) -> None:
    """Raise Failure with the reason if a source has an ordinary pod of that name."""
    for name in sorted(elsewhere.doors if source is None else {source} - {FEDERATION_SOURCE}):
        if name in elsewhere.silent:
            continue
        member = await connect_member(host, elsewhere.clusters[name])
        try:
            pod = await member.client.find(PODS, key.name, key.namespace or "default")
            if pod is None:
                continue
            namespace = await member.client.find(NAMESPACES, namespace_of(pod))
        finally:
            await member.client.close()
        told = not_elected(pod, namespace, door=name in elsewhere.doors)
        raise Failure(f"Pod {key_of(pod)} of {name}: {told}")


async def _choices(host: Client, elsewhere: Elsewhere, source: str, pod: Obj) -> _Choices:
    sight = elsewhere.seen[source]
    if source == FEDERATION_SOURCE:
        clusters = [each for each in elsewhere.clusters.values() if not each.pull]
        found = tuple(Target(TargetName("", each.name), cluster=each.name) for each in clusters)
        return _Choices(source, found, tuple(clusters), _around(sight, await _owner(host, pod)))
    member = await connect_member(host, elsewhere.clusters[source])
    try:
        nodes, job = await asyncio.gather(_virtual_nodes(member.client), _owner(member.client, pod))
    finally:
        await member.client.close()
    objects = {target.name: obj for obj in sight.targets if not (target := read_target(obj)).trouble}
    found = tuple(read_target(obj) for obj in objects.values())
    values = (_value(each, objects[each.name], source, elsewhere.clusters, nodes.get(each.name.node)) for each in found)
    return _Choices(source, found, tuple(sorted(values, key=lambda each: each.name)), _around(sight, job))


def _around(sight: Sight, job: Obj | None) -> Inputs:
    return {
        PODS: {key_of(each): each for each in sight.placeholders},
        JOBS: {key_of(job): job} if job is not None else {},
    }


async def _owner(source: Client, pod: Obj) -> Obj | None:
    """Return the Job that owns a pod, which says how large its gang is."""
    owner = controller_of(pod)
    if owner is None or owner["kind"] != JOBS.kind:
        return None
    return await source.find(JOBS, owner["name"], namespace_of(pod))


def _value(target: Target, obj: Obj, source: str, behind: Mapping[str, Cluster], node: Obj | None) -> Cluster:
    registered = behind.get(source if target.itself else target.cluster)
    standing = standing_of_cluster(registered) if registered is not None else _said_standing(obj)
    since = registered.refused_since if registered is not None else ""
    return cluster_of(target, standing, since, behind=registered, summary=None, node=node)


def _said_standing(target: Obj) -> Standing:
    """Return the standing of a private target, as its status says."""
    conditions = dig(target, "status", "conditions", default=None)
    ready, offline = find_condition(conditions, "Ready") or {}, find_condition(conditions, "Offline") or {}
    said = {"True": True, "False": False}.get(str(ready.get("status")))
    why = str(ready.get("message") or "nobody has said yet whether it answers")
    return Standing(said, str(ready.get("reason") or "NotProbed"), why, offline=offline.get("status") == "True")


async def _virtual_nodes(source: Client) -> dict[str, Obj]:
    listed = await source.list(NODES, labels=f"{PROVIDER}={PROVIDER_NAME}")
    return {name_of(node): node for node in listed.items}


async def _refused(host: Client, pod: Obj, choices: _Choices, elsewhere: Elsewhere) -> dict[str, str]:
    """Return the targets whose cluster the pod's author may not use; what is private is nobody else's to refuse."""
    behind = {str(each.name): each.cluster for each in choices.found if each.cluster in elsewhere.clusters}
    try:
        return await PodAccess(Access(host), _Behind(choices.source, behind)).refusals(pod, sorted(behind))
    except Forbidden:
        # Whoever asks may not ask that.
        return {}


def _observed(pod: Obj, choices: _Choices, elsewhere: Elsewhere) -> dict[str, Observation]:
    """Return what each target has of the pod, as far as a command can know."""
    key = chaperon_key(choices.source, key_of(pod))

    def seen(target: Target) -> Observation:
        sight = elsewhere.seen.get(choices.registered(target))
        if sight is None or not choices.registered(target):
            return UNSEEN
        return Observation(seen=True, copy=next((each for each in sight.chaperons if key_of(each) == key), None))

    return {str(target.name): seen(target) for target in choices.found}


def _unbound(pod: Obj) -> Obj:
    """Return a placeholder as if it had no place yet: every target is judged, and not only the one that has it."""
    annotations = {name: text for name, text in annotations_of(pod).items() if name != TARGET}
    spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
    return {**pod, "metadata": {**pod["metadata"], "annotations": annotations}, "spec": spec}


def _in_words(part: ClusterExplanation, one: Whereabouts) -> ClusterExplanation:
    """Say in a few words what a target has to do with the pod."""
    sentences = tuple(printable(_OF_ONE.get(each, each)) for each in part.sentences if each != _NAMED)
    if part.cluster == one.target:
        return replace(part, summary="has the pod", sentences=sentences)
    return replace(part, summary="could have it" if part.chosen else "does not have it", sentences=sentences)


def _attempt(number: int) -> str:
    return _ORDINALS.get(number, f"{number}th")
