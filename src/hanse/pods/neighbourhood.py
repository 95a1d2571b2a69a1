"""The placeholders of a source around each other: who is where, and whom that concerns.

Most pods mind nobody, and nothing is kept for them. From the first one on that does, every placeholder is kept here
beside the engine's own copy, read once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hanse.api.admiralty.keys import ANSWERS, GANG, PROXY_CONSTRAINTS, SPEC_CONSTRAINTS, TARGET
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.plain_kinds import JOBS
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, annotations_of, controller_of, dig, is_deleting, key_of, namespace_of
from hanse.kube.resources import PODS
from hanse.pods.chaperons.reading import ENDED_PHASES, is_scheduled
from hanse.pods.gangs import Gang, gathered, may_bind
from hanse.pods.placeholder.reading import target_of
from hanse.pods.placeholder.shapes import readable
from hanse.pods.placeholder.template import chaperon_key
from hanse.pods.surroundings import is_concerned
from hanse.pods.vicinity import Vicinity, minds
from hanse.pods.wishes.neighbours import Neighbour
from hanse.propagation.door import Inputs
from hanse.propagation.intent import Ref
from hanse.propagation.viewing import View

# All of a placeholder's annotations that others depend on; whatever else is written on it, nobody looks at again.
_HEEDED = (TARGET, ANSWERS, GANG, PROXY_CONSTRAINTS, SPEC_CONSTRAINTS)


class Neighbourhood:
    """Knows the placeholders of one source, from when one of them minds the others."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._view: View | None = None
        self._stored: Mapping[Key, Obj] = {}
        self._jobs: Mapping[Key, Obj] = {}
        self._awake = False
        self._vicinity = Vicinity()

    def watch(self, view: View, look: Callable[[Ref], None]) -> None:
        """Learn from an engine where placeholders are; `look` has it look at one again."""
        self._view = view

        def decided(ref: Ref) -> None:
            if ref.resource == PODS:
                for key in self._concerned(ref.key, self._vicinity.get(ref.key)):
                    look(Ref(PODS, key))

        view.on_decided(decided)

    def inform(self, inputs: Inputs) -> None:
        """Take in where placeholders and Jobs are to be found."""
        self._stored, self._jobs = inputs[PODS], inputs[JOBS]
        self._awake, self._vicinity = False, Vicinity()
        for key, placeholder in self._stored.items():
            self._note(key, placeholder)

    def changed(self, change: Change) -> list[Key]:
        """Take in the change of a placeholder; returns the others that it concerns."""
        placeholder, before = change.new, self._vicinity.get(change.key)
        self._note(change.key, placeholder)
        if before is not None and placeholder is not None and not _is_news(before, placeholder):
            return []
        return self._concerned(change.key, placeholder or before)

    def around(self, placeholder: Obj) -> list[Neighbour]:
        """Return who is around a placeholder, itself among them; nobody where nobody minds."""
        if not self._awake:
            return []
        near = self._vicinity.around(key_of(placeholder), placeholder)
        found = ((key, self._vicinity.get(key)) for key in near)
        return [self._neighbour(each) for _, each in sorted(found) if each is not None]

    def owner(self, placeholder: Obj) -> Obj | None:
        """Return the Job that owns a placeholder, None where another kind does, or nobody."""
        owner = controller_of(placeholder)
        if owner is None or owner["kind"] != JOBS.kind:
            return None
        return self._jobs.get(Key(namespace_of(placeholder), owner["name"]))

    def may_bind(self, placeholder: Obj) -> bool:
        """Tell whether a placeholder whose pod has a node may be bound: for one of a gang, once all of them have."""
        if GANG not in annotations_of(placeholder):
            return True
        gang = gathered(placeholder, self.around(placeholder), self.owner(placeholder))
        return gang is None or (isinstance(gang, Gang) and may_bind(placeholder, gang, self._has_node))

    def _note(self, key: Key, placeholder: Obj | None) -> None:
        if not self._awake and placeholder is not None and minds(placeholder):
            self._awake = True
            for each, stored in self._stored.items():
                self._vicinity.put(each, stored)
        if self._awake:
            self._vicinity.put(key, placeholder)

    def _concerned(self, key: Key, other: Obj | None) -> list[Key]:
        if other is None or not self._awake:
            return []
        found = ((each, self._vicinity.get(each)) for each in self._vicinity.concerned_by(key, other))
        return [each for each, placeholder in found if placeholder is not None and is_concerned(placeholder, other)]

    def _neighbour(self, placeholder: Obj) -> Neighbour:
        return Neighbour(placeholder, target_of(placeholder) or self._place(placeholder))

    def _place(self, placeholder: Obj) -> str:
        """Return where a placeholder's pod is or shall be."""
        if self._view is None:
            return ""
        decision = self._view.decision(Ref(PODS, key_of(placeholder)))
        # A target may be chosen that has no room for it: there it is not.
        placed = [name for name, count in decision.replicas.items() if count] if decision is not None else []
        return placed[0] if placed else next(iter(self._chaperons(placeholder)), "")

    def _has_node(self, placeholder: Obj) -> bool:
        chaperons = map(readable, self._chaperons(placeholder).values())
        return bool(target_of(placeholder)) or any(map(is_scheduled, chaperons))

    def _chaperons(self, placeholder: Obj) -> dict[str, Obj]:
        """Return what targets have of a placeholder and are to keep."""
        ref = Ref(POD_CHAPERONS, chaperon_key(self._source, key_of(placeholder)))
        speaker = self._view.speaker(ref) if self._view is not None else None
        if self._view is None or speaker is None:
            return {}
        seen = self._view.observe(ref, speaker)
        return {name: each.copy for name, each in seen.items() if each.copy is not None and not is_deleting(each.copy)}


def _is_news(before: Obj, after: Obj) -> bool:
    """Tell whether a change can matter to others: labels, place, answers, and whether it has ended or is going."""
    return _told(before) != _told(after)


def _told(placeholder: Obj) -> tuple[object, ...]:
    metadata, annotations = placeholder["metadata"], annotations_of(placeholder)
    phase = dig(placeholder, "status", "phase")
    heeded = [annotations.get(name) for name in _HEEDED]
    return metadata.get("labels"), heeded, metadata.get("deletionTimestamp"), phase if phase in ENDED_PHASES else ""
