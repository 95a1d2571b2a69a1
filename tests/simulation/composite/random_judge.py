"""What must never happen to children of lambda controllers, judged at every write that reaches the server.

The judge knows what is stored, past every cache and fault, what each hook was shown and has answered, and who asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import orjson

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.apiserver.storage import Change
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, controller_of, dig, is_deleting, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, PODS, SECRETS, Resource
from hanse.kube.transport import Request
from tests.simulation.composite.stage import THINGS, WIDE_THINGS
from tests.simulation.random_truth import bucket_of

CHILDREN = (PODS, CONFIGMAPS, SECRETS)
KEPT = {bucket_of(kind): kind for kind in (*CHILDREN, THINGS, WIDE_THINGS, CONTROLLER_REVISIONS)}
_BY_PLURAL = {kind.plural: kind for kind in KEPT.values()}

Named = tuple[str, str]


@dataclass(slots=True)
class Told:
    """What a server's hooks said last of one owner, and which of its pods worked when they were asked."""

    wanted: dict[str, list[Named]] = field(default_factory=dict)
    working: frozenset[str] = frozenset()
    alive: bool = False

    @property
    def names(self) -> set[Named]:
        """All that is wanted, by whichever controller and for whichever input."""
        return {each for names in self.wanted.values() for each in names}


class CompositeJudge:
    """Keeps what is stored, and the sentences about what was wrong."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.writes: list[str] = []
        self.objects: dict[tuple[Resource, str], Obj] = {}
        self.most_down = 1
        # What strangers made, by uid: nobody's children.
        self.strangers: set[str] = set()
        self.heard: Callable[[Resource, Obj | None], None] = lambda _kind, _obj: None
        self._told: dict[tuple[str, str], Told] = {}
        # The pods that worked when it was decided to move them, and those of them that are down, by their owner.
        self._chosen: set[str] = set()
        self._down: dict[str, set[str]] = {}

    def blame(self, sentence: str) -> None:
        """Keep a sentence."""
        if sentence not in self.found:
            self.found.append(sentence)

    def of(self, kind: Resource) -> Iterator[Obj]:
        """Yield what is stored of a kind."""
        yield from [obj for (held, _name), obj in self.objects.items() if held is kind]

    def children_of(self, uid: str) -> list[Obj]:
        """Return what an owner controls."""
        return [obj for kind in CHILDREN for obj in self.of(kind) if _owner(obj) == uid]

    # What is stored

    def hear(self, change: Change) -> None:
        """Take in one change."""
        kind = KEPT.get(change.bucket)
        if kind is None:
            return
        where = kind, change.path.rpartition("/")[2]
        before, after = self.objects.get(where), None if change.deleted else _read(kind, change.value)
        if after is None:
            self.objects.pop(where, None)
            self._unasked(where)
        else:
            self.objects[where] = after
        if kind is CONTROLLER_REVISIONS and after is not None:
            self._judge_moves(before, after)
        self._judge_down()
        self.heard(kind, after)

    def _judge_moves(self, before: Obj | None, after: Obj) -> None:
        owner, new = _owner(after), _claimed(after) - _claimed(before)
        parent = self._parent(owner)
        if parent is None or dig(parent, "spec", "template") != dig(after, "parentPatch", "spec", "template"):
            return
        told = [each for (_server, uid), each in self._told.items() if uid == owner]
        working = frozenset.intersection(*(each.working for each in told)) if told else frozenset()
        for name in new & working:
            pod = self.objects.get((PODS, name))
            self._chosen |= set() if pod is None else {uid_of(pod)}
        order = [name for kind, name in told[-1].wanted.get("sync", ()) if kind == "Pod"] if len(told) == 1 else []
        passed = [name for name in order if name in working and name not in _claimed(after)]
        for name in new & working & set(order):
            if passed and order.index(passed[0]) < order.index(name):
                self.blame(f"in order: {name} moves before {passed[0]}")

    def _judge_down(self) -> None:
        for owner, down in self._down.items():
            down &= {name for parent in self._parents(owner) for name in _pods_of(parent)}
            down -= {name for name in down if _works(self.objects.get((PODS, name)))}
            if len(down) > self.most_down:
                self.blame(f"not too many at once: {sorted(down)} were taken down, {self.most_down} may be")

    def _parents(self, uid: str) -> list[Obj]:
        return [parent for kind in (THINGS, WIDE_THINGS) for parent in self.of(kind) if uid_of(parent) == uid]

    def _parent(self, uid: str) -> Obj | None:
        return next(iter(self._parents(uid)), None)

    # What hooks say

    def asked(self, server: str, owner: Obj, pods: Sequence[Obj]) -> None:
        """Note that a hook is asked about an owner, and what it is shown."""
        told = self._told.setdefault((server, uid_of(owner)), Told())
        told.alive = False
        told.working = frozenset(name_of(pod) for pod in pods if _works(pod))

    def answered(self, server: str, owner: Obj, topic: str, children: Sequence[Obj], given: Obj | None = None) -> None:
        """Note what a hook wants, perhaps for an input that it was given; one that fails has said nothing."""
        # A slow hook may answer after its input has gone: nobody wants anything for it then.
        if given is not None and not self._is_stored(CONFIGMAPS, given):
            return
        told = self._told.setdefault((server, uid_of(owner)), Told())
        told.wanted[topic] = [(child["kind"], name_of(child)) for child in children]

    def _is_stored(self, kind: Resource, obj: Obj) -> bool:
        found = self.objects.get((kind, name_of(obj)))
        return found is not None and uid_of(found) == uid_of(obj)

    def _unasked(self, gone: tuple[Resource, str]) -> None:
        """With an input goes what was wanted for it."""
        kind, name = gone
        for told in self._told.values() if kind is CONFIGMAPS else ():
            told.wanted.pop(name, None)

    def dead(self, server: str) -> None:
        """Forget what a server that died was told."""
        for key in [key for key in self._told if key[0] == server]:
            del self._told[key]

    # What servers of controllers ask for

    def looked(self, server: str, obj: Obj) -> None:
        """Note that a server read an object anew."""
        told = self._told.get((server, uid_of(obj)))
        if told is not None or not is_deleting(obj):
            self._told.setdefault((server, uid_of(obj)), Told()).alive = not is_deleting(obj)

    def before(self, request: Request) -> tuple[Resource, Obj | None] | None:
        """Return what a request is about, as it is stored now; None where that is of no interest."""
        parts = request.path.split("/")
        plural = parts[-1] if request.method == "POST" else parts[-2]
        kind = _BY_PLURAL.get(plural)
        return None if kind is None else (kind, self.objects.get((kind, parts[-1])))

    def carried_out(self, server: str, request: Request, kind: Resource, live: Obj | None) -> None:
        """Judge a write that the server has taken."""
        self.writes.append(f"{request.method} {request.path}")
        if kind not in CHILDREN:
            return
        if request.method == "POST":
            made = orjson.loads(request.body)
            if controller_of(made) is None:
                self.blame(f"no child without owner: {kind.kind} {name_of(made)} was made so")
        elif live is None:
            return
        elif uid_of(live) in self.strangers:
            self.blame(f"others' objects are theirs: {request.method} {kind.kind} {name_of(live)}")
        elif request.method == "DELETE":
            self._judge_deletion(server, kind, live)
        elif request.method == "PUT" and controller_of(live) is None:
            self._judge_adoption(server, kind, orjson.loads(request.body))

    def _judge_adoption(self, server: str, kind: Resource, adopted: Obj) -> None:
        told = self._told.get((server, _owner(adopted)))
        if _owner(adopted) and (told is None or not told.alive):
            self.blame(f"no orphan for the dead: {kind.kind} {name_of(adopted)} was taken over for {_owner(adopted)}")

    def _judge_deletion(self, server: str, kind: Resource, live: Obj) -> None:
        owner, name = _owner(live), name_of(live)
        parent = self._parent(owner)
        if parent is None or is_deleting(parent) or is_deleting(live):
            return
        told = self._told.get((server, owner)) or Told()
        if not told.wanted and parent["kind"] != WIDE_THINGS.kind:
            self.blame(f"nothing without an answer: {kind.kind} {name} was deleted")
        elif (kind.kind, name) in told.names:
            if kind is not PODS:
                self.blame(f"nothing that is wanted: {kind.kind} {name} was deleted")
            else:
                self._judge_recreation(owner, live)

    def _judge_recreation(self, owner: str, pod: Obj) -> None:
        claims = [revision for revision in self.of(CONTROLLER_REVISIONS) if _owner(revision) == owner]
        claimed = [revision for revision in claims if name_of(pod) in _claimed(revision)]
        image = dig(pod, "spec", "containers")[0]["image"]
        if not any(dig(each, "parentPatch", "spec", "template", "image") != image for each in claimed):
            self.blame(f"stored before it is touched: pod {name_of(pod)} was deleted at the version that it has")
        if uid_of(pod) in self._chosen:
            self._down.setdefault(owner, set()).add(name_of(pod))


def _read(kind: Resource, stored: bytes) -> Obj:
    # What is stored does not say of which kind it is.
    return {**orjson.loads(stored), "apiVersion": kind.api_version, "kind": kind.kind}


def _owner(obj: Obj) -> str:
    return str((controller_of(obj) or {}).get("uid", ""))


def _pods_of(parent: Obj) -> set[str]:
    return {f"{name_of(parent)}-{number}" for number in range(dig(parent, "spec", "replicas", default=0))}


def _works(pod: Obj | None) -> bool:
    return pod is not None and not is_deleting(pod) and is_true(dig(pod, "status", "conditions"), "Ready")


def _claimed(revision: Obj | None) -> set[str]:
    entries = (revision or {}).get("children") or ()
    return {name for entry in entries if entry["kind"] == "Pod" for name in entry["names"]}
