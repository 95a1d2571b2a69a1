"""Pods of one controller that are placed together or not at all.

A gang waits until as many of its pods exist as it says. Then the first of them by name, its leader, is placed where
there is room for all, and the others go only where the leader is. As long as none is bound, a target that cannot run
one of them is left by all, who go to the next. Once one is bound the gang has its home: whoever comes later, because a
pod was replaced, goes there and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hanse.api.admiralty.keys import GANG
from hanse.kube.manifest import Obj, annotations_of, controller_of, dig, name_of, namespace_of
from hanse.pods.placeholder.reading import answers_of
from hanse.pods.wishes.neighbours import Neighbour
from hanse.propagation.intent import Problem

ALL = "all"
_COUNT = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang as one of its pods sees it.

    `size` is how many belong together, None where only their owner could say. `members` are the placeholders that
    exist, in order of name; those that have failed or are being deleted are none, and those that have succeeded are.
    """

    owner: str
    size: int | None
    members: tuple[Neighbour, ...]
    trouble: Problem | None = None

    @property
    def is_there(self) -> bool:
        """Whether enough of its pods exist."""
        return self.size is not None and len(self.members) >= self.size

    @property
    def unfit(self) -> frozenset[str]:
        """The targets that could not run one of its pods; none counts once the gang has a home."""
        if any(each.bound for each in self.members):
            return frozenset()
        return frozenset(name for each in self.members for name in answers_of(each.pod))

    @property
    def home(self) -> str:
        """The target in which the gang is, "" while it is in none that could run it."""
        bound = (each.target for each in self.members if each.bound and each.target)
        placed = (each.target for each in self.members if each.target and each.target not in self.unfit)
        return next(bound, "") or next(placed, "")

    @property
    def leader(self) -> str:
        """The member that is placed first, "" where there is none left to be."""
        return next((name_of(each.pod) for each in self.members if not each.ended), "")


@dataclass(frozen=True, slots=True)
class Orders:
    """What one member of a gang shall do: go to one of these `targets`, which has room for so many `together`.

    0 leaves it to the target whether it has room. Where it is `withdrawn`, no target is left for now, and even what it
    has anywhere goes.
    """

    targets: tuple[str, ...]
    together: int = 1
    withdrawn: bool = False


def gathered(placeholder: Obj, neighbours: Iterable[Neighbour], owner: Obj | None = None) -> Gang | None:
    """Return the gang of a placeholder, None where it belongs to none.

    `neighbours` are placeholders of its namespace, itself among them; `owner` is its controller as its cluster has it,
    which only a gang of "all" needs.
    """
    asked = annotations_of(placeholder).get(GANG)
    if asked is None:
        return None
    reference = controller_of(placeholder)
    if reference is None:
        return Gang(
            "", None, (), _invalid(f"annotation {GANG} means the pods of one controller, and this pod has none")
        )
    size = _size(asked, reference, owner)
    trouble = size if isinstance(size, Problem) else None
    members = [each for each in neighbours if _is_member(each, placeholder, reference["uid"])]
    members.sort(key=lambda each: name_of(each.pod))
    title = f"{reference['kind']} {reference['name']}"
    return Gang(title, None if isinstance(size, Problem) else size, tuple(members), trouble)


def ordered(placeholder: Obj, gang: Gang, targets: Sequence[str]) -> Orders | Problem:
    """Say where a member of a gang may go, of the targets it may go to by all else, or what it waits for."""
    if gang.size is None:
        return gang.trouble or _invalid(f"annotation {GANG} does not say how many pods belong together")
    if gang.home:
        return _at_home(placeholder, gang, targets)
    if not gang.is_there:
        missing = gang.size - len(gang.members)
        return _waits(f"waits for {missing} of {gang.size} pods of its gang, which {gang.owner} has yet to make")
    left = tuple(name for name in targets if name not in gang.unfit)
    if name_of(placeholder) == gang.leader:
        return Orders(left, gang.size, withdrawn=not left)
    if _where(placeholder, gang):
        # The target could not run one of them: none stays, and a problem would leave this one there.
        return Orders((), 0, withdrawn=True)
    return _waits(f"waits for pod {gang.leader}, the first of its gang, to find a target with room for {gang.size}")


def may_bind(placeholder: Obj, gang: Gang, is_scheduled: Callable[[Obj], bool]) -> bool:
    """Tell whether a member that has found a node may be bound: all the others have found theirs, or are bound.

    `is_scheduled` tells of a member's placeholder whether its pod has a node in its target.
    """
    if any(each.bound for each in gang.members):
        return True
    if not gang.is_there or not gang.home:
        return False
    waiting = [each for each in gang.members if not each.ended and not each.is_one(placeholder)]
    return all(each.target == gang.home and is_scheduled(each.pod) for each in waiting)


def _at_home(placeholder: Obj, gang: Gang, targets: Sequence[str]) -> Orders | Problem:
    bound = any(each.bound for each in gang.members)
    if gang.home not in targets and not bound:
        return _waits(f"waits for its gang, which is in {gang.home}, where it may not go")
    leads = name_of(placeholder) == gang.leader and _where(placeholder, gang) == gang.home and not bound
    # Until all are there the leader keeps the room for them; whether the others find it is for the target to say.
    return Orders((gang.home,), (gang.size or 1) if leads else 0)


def _where(placeholder: Obj, gang: Gang) -> str:
    return next((each.target for each in gang.members if each.is_one(placeholder)), "")


def _waits(sentence: str) -> Problem:
    return Problem("GangWaits", sentence, expected=True)


def _invalid(sentence: str) -> Problem:
    return Problem("InvalidGang", sentence)


def _is_member(each: Neighbour, placeholder: Obj, owner_uid: str) -> bool:
    reference = controller_of(each.pod)
    return (
        reference is not None
        and reference["uid"] == owner_uid
        and namespace_of(each.pod) == namespace_of(placeholder)
        and GANG in annotations_of(each.pod)
        and not each.leaving
        and dig(each.pod, "status", "phase") != "Failed"
    )


def _size(asked: str, reference: Obj, owner: Obj | None) -> int | Problem:
    if asked != ALL:
        if _COUNT.fullmatch(asked):
            return int(asked)
        return _invalid(f'annotation {GANG} must be "{ALL}" or a number from 1 to 999999, not {asked[:40]!r}')
    kind, name = reference["kind"], reference["name"]
    if kind != "Job":
        return _invalid(f'annotation {GANG} must be a number for pods of a {kind}: nobody here knows what "{ALL}" are')
    if owner is None:
        return _waits(f"waits for {kind} {name} to say how many pods belong together")
    return _parallelism(owner)


def _parallelism(job: Obj) -> int:
    """Return how many pods a Job runs at a time: no more than it has to complete."""
    parallelism = int(dig(job, "spec", "parallelism", default=1))
    completions = dig(job, "spec", "completions")
    return parallelism if completions is None else min(parallelism, int(completions))
