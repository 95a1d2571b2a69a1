"""The promises of the design as things that must never happen, judged at every write of a control plane.

The judge stands behind the API servers: it sees each change as it is stored, knows who made it, and compares it with
what is true everywhere at that moment.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from hanse.api.names import AUTOSCALED_ANNOTATION, FINALIZER, PREFIX, SYSTEM_NAMESPACE
from hanse.apiserver.storage import Change
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, key_of, namespace_of, uid_of
from hanse.kube.transport import Request
from tests.simulation.random_objects import THEIRS
from tests.simulation.random_rules import RULES, Write, is_singleton
from tests.simulation.random_truth import DEPLOYMENTS, HOST, LAG_SECONDS, SOURCES, WATCHED, Truth, owner_of

# Who sent the request that is being carried out, as the server in which it is knows them; nobody for its own loops.
AUTHOR: ContextVar[str] = ContextVar("author", default="")
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_OURS = ("finalizers", "annotations", "managedFields", "resourceVersion", "generation")


class Judge:
    """Watches every change and keeps the sentences about what should never have happened."""

    def __init__(self, control_plane: str, now: Callable[[], float], *, elected: bool = False) -> None:
        """`elected` says that a control plane may write only while it holds the Lease."""
        self.truth = Truth()
        self.found: list[str] = []
        self.writes: list[str] = []
        self.made: list[str] = []
        self.secrets: list[bytes] = []
        self._control_plane = control_plane
        self._now = now
        self._elected = elected

    def hear(self, place: str, change: Change) -> None:
        """Judge one change."""
        self._check_secrets(place, change)
        ours = AUTHOR.get() == self._control_plane
        if change.bucket not in WATCHED:
            return
        before, after = self.truth.note(place, change, self._now())
        if not ours:
            self.truth.note_loss(place, before, after, self._now())
        if not ours or change.bucket not in SOURCES:
            return
        if place == HOST:
            self._judge_source(before, after)
        else:
            self._judge_copy(place, change.bucket, before, after)

    def note_request(self, identity: str, place: str, request: Request) -> None:
        """Keep what a control plane asks a server to change; asking what somebody may do changes nothing."""
        if request.method not in _WRITES or request.path.endswith("reviews") or "/leases" in request.path:
            return
        asked = f"{place}: {request.method} {request.path}"
        self.writes.append(asked)
        if self._elected and self.truth.holder != identity:
            leads = self.truth.holder or "nobody"
            self.blame(f"crash and converge: {identity} asked for a change while {leads} led: {asked}")

    def blame(self, sentence: str) -> None:
        """Keep a sentence."""
        if sentence not in self.found:
            self.found.append(sentence)

    # Promise 8: credentials stay where they are

    def _check_secrets(self, place: str, change: Change) -> None:
        if change.bucket == "core/secrets" and place == HOST and change.path.startswith(f"{SYSTEM_NAMESPACE}/"):
            return
        if any(secret in change.value for secret in self.secrets):
            self.blame(f"least power: {place}: {change.bucket} {change.path} holds a cluster's credentials")

    # On the host: a source is its user's

    def _judge_source(self, before: Obj | None, after: Obj | None) -> None:
        if before is None:
            self.blame(f"others' fields: the control plane made {_named(after)} on the host")
            return
        if after is not None and _chosen_by_users(before) != _chosen_by_users(after):
            self.blame(f"others' fields: the control plane changed what the user wrote in {_named(before)}")
        if FINALIZER in finalizers_of(before) and (after is None or FINALIZER not in finalizers_of(after)):
            self._judge_letting_go(before)

    def _judge_letting_go(self, source: Obj) -> None:
        now, uid = self._now(), uid_of(source)
        for place, copy in self.truth.copies(uid):
            known = self.truth.joined_at.get(place, now) < self.truth.known_since(now) - LAG_SECONDS
            if place in self.truth.clusters and known and not _deleting(copy):
                self.blame(f"crash and converge: {_named(source)} was let go while {place} still has its copy")

    # In a member

    def _judge_copy(self, place: str, bucket: str, before: Obj | None, after: Obj | None) -> None:
        now, obj = self._now(), after or before or {}
        left = self.truth.left_at.get(place, -1e9)
        if place not in self.truth.clusters and left < self.truth.known_since(now) - LAG_SECONDS:
            self.blame(f"nothing of others: {place}: {_named(obj)} was written after the cluster left")
        if before is not None and not owner_of(before):
            self.blame(f"nothing of others: {place}: {_named(before)} is not Hanse's and was changed")
            return
        if before is None:
            self.made.append(f"{place}: made {_named(obj)}")
        for rule in RULES:
            for sentence in rule(self.truth, Write(place, bucket, before, after, now)):
                self.blame(sentence)
        if before is None:
            self._judge_creation(place, obj)
        elif after is None or ("deletionTimestamp" in after["metadata"] and not _deleting(before)):
            self._judge_deletion(place, bucket, before)
        elif after is not None:
            self._judge_theirs(place, before, after)
            if bucket == DEPLOYMENTS and owner_of(after):
                self._judge_shrinking(place, before, int(dig(after, "spec", "replicas", default=1)))

    def _judge_creation(self, place: str, copy: Obj) -> None:
        uid = owner_of(copy)
        source = self.truth.sources.get(uid)
        if source is None or uid not in self.truth.present():
            self.blame(f"crash and converge: {place}: {_named(copy)} was made of a source that is not there")
        elif FINALIZER not in finalizers_of(source):
            self.blame(f"crash and converge: {place}: {_named(copy)} was made before its source had the finalizer")
        elif namespace_of(copy) in (SYSTEM_NAMESPACE, "kube-system"):
            self.blame(f"least power: {place}: {_named(copy)} is the machinery's own")
        elif self.truth.excluded(uid, place, self._now()) and not self.truth.included(uid, place, self._now()):
            self.blame(f"say why: {place}: {_named(copy)} was placed where its selector forbids it")

    def _judge_deletion(self, place: str, bucket: str, copy: Obj) -> None:
        uid = owner_of(copy)
        source = self.truth.sources.get(uid)
        if source is None:
            self.blame(f"never on ignorance: {place}: {_named(copy)} was deleted and nobody knows its source")
        elif _deleting(source):
            if uid in self.truth.orphaned:
                self.blame(f"never on ignorance: {place}: {_named(copy)} was deleted and should be orphaned")
        elif uid not in self.truth.present():
            self.blame(f"never on ignorance: {place}: {_named(copy)} was deleted and nobody had deleted its source")
        elif bucket == DEPLOYMENTS:
            self._judge_shrinking(place, copy, 0)
        elif not self.truth.excluded(uid, place, self._now()):
            self.blame(f"never on ignorance: {place}: {_named(copy)} was deleted and belongs there")
        elif self.truth.nothing_since(uid, place):
            self.blame(f"never on ignorance: {place}: {_named(copy)} was deleted while no cluster is chosen for it")

    def _judge_shrinking(self, place: str, before: Obj, replicas: int) -> None:
        """Never the last healthy copy: what others are known to have ready makes up for what is taken here."""
        uid, now = owner_of(before), self._now()
        if replicas >= int(dig(before, "spec", "replicas", default=1)) or not self.truth.live(uid):
            return
        if is_singleton(self.truth.sources[uid]):
            # What must never run twice ends in one place before it begins in another.
            return
        least, _most = self.truth.availability(place, uid, now)
        others = sum(
            self.truth.availability(other, uid, now)[1] for other in self.truth.objects if other not in (HOST, place)
        )
        wanted, _most = self.truth.asked_lately(uid, now)
        if least > replicas and others + replicas < wanted:
            self.blame(
                f"never the last healthy copy: {place}: {_named(before)} was taken from {least} available replicas to "
                f"{replicas} while others had at most {others} of {wanted}"
            )

    def _judge_theirs(self, place: str, before: Obj, after: Obj) -> None:
        lost = sorted(_theirs(before) - _theirs(after))
        if lost and owner_of(after):
            self.blame(f"others' fields: {place}: {_named(after)} lost {', '.join(lost)}")


def _deleting(obj: Obj) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _theirs(obj: Obj) -> set[str]:
    data = obj.get("data") or {}
    return {name for name in (*annotations_of(obj), *data) if name.startswith(THEIRS)}


def _chosen_by_users(obj: Obj) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OURS}
    notes = {
        name: value
        for name, value in annotations_of(obj).items()
        if not name.startswith(PREFIX) and name != AUTOSCALED_ANNOTATION
    }
    rest = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
    return {**rest, "metadata": metadata, "annotations": notes}


def _named(obj: Obj | None) -> str:
    return f"{obj['kind']} {key_of(obj)}" if obj else "nothing"
