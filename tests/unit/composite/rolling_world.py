"""A cluster of pods in a dict, and a controller that rolls them: everything but requests is the room's own code.

A sync can be cut off after any write, as a crash would; the next one knows only what was stored. Cats come in
descending order, so that the last one moves first.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

import orjson

from hanse.composite.children import by_id, child_id
from hanse.composite.claiming import selector_of
from hanse.composite.planning import Create, Delete, Recreate, Update, plan
from hanse.composite.preparing import prepared
from hanse.composite.rolling.progress import advance, questions
from hanse.composite.rolling.revisions import (
    RevisionStore,
    patch_of,
    revision_labels,
    revisions_of,
    with_latest,
    with_patch,
)
from hanse.composite.rolling.situation import Situation, Told, Words
from hanse.composite.spec import Method
from hanse.kube.conditions import is_true
from hanse.kube.manifest import dig, name_of, owner_reference
from hanse.kube.resources import PODS
from tests.unit.composite.builders import READY, SETS, catset, controller, pod, rules

PATHS = (("spec", "template"),)


def cats(parent):
    """The hook: as many cats as asked for, the highest first."""
    spec = parent["spec"]
    return [
        pod(f"cat-{place}", spec={"image": f"cat:{spec['template']}"}, metadata={"annotations": {"note": spec["note"]}})
        for place in reversed(range(spec["replicas"]))
    ]


class Crashed(Exception):
    """The process was killed before a write."""


@dataclass
class World:
    method: Method = Method.ROLLING_RECREATE
    options: dict[Any, Any] = field(default_factory=dict)
    parent: dict[Any, Any] = field(default_factory=lambda: catset(template=1, replicas=3, note="a"))
    pods: dict[Any, Any] = field(default_factory=dict)
    revisions: dict[Any, Any] = field(default_factory=dict)
    now: float = 1000.0
    uids: int = 0
    # Pods that worked when it was decided to move them; of those the ones that were taken down and are not ready yet.
    chosen: set[str] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    words: dict[Any, Any] = field(default_factory=dict)
    asks_before: bool = False
    asks_after: bool = False
    writes_left: int | None = None
    last: Any = None
    asked: Any = None

    def change(self, **spec):
        """Let a person edit the parent."""
        generation = self.parent["metadata"]["generation"] + 1
        metadata = {**self.parent["metadata"], "generation": generation}
        self.parent = {**self.parent, "metadata": metadata, "spec": {**self.parent["spec"], **spec}}

    def sync(self, writes=None):
        """Observe, decide, write; with `writes` only so many before the crash. Returns what was decided."""
        self.writes_left = writes
        ruling = rules(self.method, checks=(READY,), **self.options)
        stored = [copy.deepcopy(obj) for obj in self.revisions.values()]
        latest, older = with_latest(revisions_of(self.parent, stored, [PODS]), patch_of(self.parent, PATHS))
        told = [self._told(revision) for revision in (latest, *older)]
        observed = by_id({PODS: list(self.pods.values())})
        situation = Situation(
            told[0],
            tuple(told[1:]),
            observed,
            ruling,
            self.parent["metadata"]["generation"],
            self.now,
            asks_before=self.asks_before,
            asks_after=self.asks_after,
        )
        self.down &= {child.id.name for child in situation.rolling}
        self.last = progress = advance(situation, self._asked(questions(situation)))
        self._choose(child.name for child in progress.moved)
        selector = selector_of(self.parent, controller())
        store = RevisionStore(self.parent, SETS, revision_labels(self.parent, SETS, selector), "shop")
        planned = plan(observed, progress.desired, ruling, owner=owner_reference(self.parent), allowed=progress.allowed)
        try:
            self._store(store.changes(progress.kept, progress.dropped))
            for action in planned.actions:
                self._act(action)
        except Crashed:
            pass
        return progress

    def _told(self, revision):
        answer = prepared(cats(with_patch(self.parent, revision.patch, PATHS)), self.parent, controller(), [PODS])
        assert isinstance(answer, list), answer
        return Told(revision, tuple(answer))

    def _asked(self, asked):
        self.asked = [child.id.name for child in asked.before], [child.id.name for child in asked.after]
        before = {child.id: self.words.get(("before", child.id.name), "") for child in asked.before}
        after = {child.id: self.words.get(("after", child.id.name), "") for child in asked.after}
        return Words(before, after)

    def _store(self, changes):
        for obj in (*changes.create, *changes.update):
            self._write()
            self.revisions[name_of(obj)] = orjson.loads(orjson.dumps(obj))
        for obj in changes.delete:
            self._write()
            del self.revisions[name_of(obj)]

    def _act(self, action):
        self._write()
        match action:
            case Create(child=child, body=body):
                self.uids += 1
                self.pods[child.id.name] = {**body, "metadata": {**body["metadata"], "uid": f"u-{self.uids}"}}
            case Update(child=child, body=body):
                self._takes_down(child.id.name)
                self.pods[child.id.name] = {name: value for name, value in body.items() if name != "status"}
            case Recreate(child=child):
                self._takes_down(child.id.name)
                self.delete(child.id.name)
            case Delete(id=child):
                del self.pods[child.name]

    def _choose(self, names):
        for name in names:
            if is_true(dig(self.pods.get(name), "status", "conditions"), "Ready"):
                self.chosen.add(name)
            else:
                self.chosen.discard(name)

    def _takes_down(self, name):
        if name in self.chosen:
            self.down.add(name)

    def _write(self):
        if self.writes_left is not None:
            if self.writes_left == 0:
                raise Crashed
            self.writes_left -= 1

    def delete(self, name):
        """Ask for a pod's deletion; it is there until `vanish`."""
        obj = self.pods[name]
        self.pods[name] = {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}

    def vanish(self):
        """Let the kubelet end what is being deleted."""
        self.pods = {name: obj for name, obj in self.pods.items() if "deletionTimestamp" not in obj["metadata"]}

    def ready(self, *names, ready=True, **reason):
        """Let pods become ready, all where none is named."""
        for name in names or tuple(self.pods):
            entry = {"type": "Ready", "status": str(ready), **reason}
            self.pods[name] = {**self.pods[name], "status": {"conditions": [entry]}}
            if ready and "deletionTimestamp" not in self.pods[name]["metadata"]:
                self.down.discard(name)

    def settle(self):
        """Let everything become well that can."""
        self.vanish()
        self.ready()

    def begin(self):
        """Have all cats run at the first version."""
        self.sync()
        self.settle()
        return self

    def images(self):
        """Which version each pod is, in order of names."""
        return "".join(obj["spec"]["image"][-1] for _, obj in sorted(self.pods.items()))

    def claims(self):
        """Which pods are stored at which version."""
        return {
            obj["parentPatch"]["spec"]["template"]: [name for entry in obj["children"] for name in entry["names"]]
            for obj in self.revisions.values()
        }


def pod_id(name):
    return child_id(pod(name))
