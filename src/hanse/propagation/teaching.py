"""What must be known of a custom kind: taught by its FederatedKind, in CEL, or in Python, and understood here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hanse.api.federated_kinds import AVAILABLE_PATH, FederatedKind, Path, TaughtField, TaughtScale
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.propagation.expressions import (
    BadExpression,
    Unanswered,
    as_json,
    counted,
    holds,
    made,
    understand_count,
    understand_field,
    understand_health,
)
from hanse.propagation.scale import Count, Scale
from hanse.propagation.wellness import Ailment, Health, ailment_of, unseen_change

MakeField: TypeAlias = Callable[[Obj, Sequence[Obj]], Any]

_STATUS = ("status",)


@dataclass(frozen=True, slots=True)
class Teaching:
    """Teaches the engine a custom kind in Python: its replicas, its health and its status.

    `kind` is its plural and group, e.g. `widgets.example.com`; `replicas` the path of the field that divides. `ready`
    and `available` count replicas of an object in a cluster; `healthy` says True where it is well, or else False or a
    sentence that says what it lacks. `status` makes fields of the federation's status from a list of maps, each with
    the `name` and `status` of a cluster. A function that raises has found no answer yet, and nothing else happens.
    """

    kind: str
    replicas: str = ""
    ready: Callable[[Obj], int] | None = None
    available: Callable[[Obj], int] | None = None
    healthy: Callable[[Obj], bool | str] | None = None
    status: Callable[[Sequence[Obj]], Obj] | None = None


@dataclass(frozen=True, slots=True)
class MadeField:
    """A field of the status that a function makes of the source and the clusters."""

    path: Path
    make: MakeField


@dataclass(frozen=True, slots=True)
class Lesson:
    """A kind as it was understood; `problems` say what could not be, each in one sentence."""

    kind: FederatedKind
    scale: Scale | None = None
    health: Health = ailment_of
    status: tuple[TaughtField | MadeField, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def resource(self) -> Resource:
        """The kind."""
        return self.kind.resource


@dataclass(slots=True)
class _Student:
    """Understands expressions, and notes those that cannot be."""

    problems: list[str] = field(default_factory=list)

    def health(self, source: str) -> Health | None:
        try:
            rule = understand_health(source)
        except BadExpression as error:
            self.problems.append(f"spec.health is left out: {error}")
            return None
        return _judged_by(lambda copy: _lacking(holds(rule, copy), source))

    def count(self, name: str, source: str) -> Count | None:
        try:
            rule = understand_count(source)
        except BadExpression as error:
            self.problems.append(f"spec.replicas.{name} is left out: {error}")
            return None
        return lambda copy: counted(rule, copy)

    def field(self, rule: TaughtField) -> TaughtField | MadeField | None:
        if not rule.expression:
            return rule
        try:
            understood = understand_field(rule.expression)
        except BadExpression as error:
            self.problems.append(f"the field {'.'.join(rule.path)} is left out: {error}")
            return None
        return MadeField(rule.path, lambda source, clusters: made(understood, source, clusters))


def learn(kind: FederatedKind, teaching: Teaching | None = None) -> Lesson:
    """Understand a kind as far as it can be understood; what Python teaches counts before what the object does."""
    teaching = teaching or Teaching(kind.resource.group_resource)
    student = _Student()
    health = student.health(kind.health) if kind.health else None
    if teaching.healthy is not None:
        health = _health(teaching.healthy)
    status: list[TaughtField | MadeField] = [each for rule in kind.status if (each := student.field(rule)) is not None]
    if teaching.status is not None:
        status.append(_status(teaching.status))
    scale = kind.scale
    if teaching.replicas:
        path = tuple(teaching.replicas.split("."))
        scale = TaughtScale(path) if scale is None else replace(scale, replicas=path)
    return Lesson(
        kind,
        scale=_scale(scale, teaching, health, student) if scale is not None else None,
        health=health or ailment_of,
        status=tuple(status),
        problems=tuple(student.problems),
    )


def _scale(taught: TaughtScale, teaching: Teaching, health: Health | None, student: _Student) -> Scale:
    ready: Path | Count = taught.ready
    if teaching.ready is not None:
        ready = _count(teaching.ready)
    elif taught.ready_expression:
        ready = student.count("readyExpression", taught.ready_expression) or ready
    available: Path | Count | None = taught.available
    if teaching.available is not None:
        available = _count(teaching.available)
    elif taught.available_expression:
        available = student.count("availableExpression", taught.available_expression)
    if available is None:
        available = _all_where_well(taught.replicas, health) if health is not None else AVAILABLE_PATH
    return Scale(taught.replicas, ready, available)


def _all_where_well(replicas: Path, health: Health) -> Count:
    asked = Scale(replicas).asked
    return lambda copy: asked(copy) if health(copy) is None else 0


def _judged_by(judge: Health) -> Health:
    """Return what a judge finds, once a cluster's controllers have seen what there is to judge."""

    def ailment(copy: Obj) -> Ailment | None:
        if unseen := unseen_change(copy):
            return unseen
        try:
            return judge(copy)
        except Unanswered as error:
            return Ailment(f"its health cannot be told: {error}")

    return ailment


def _health(healthy: Callable[[Obj], bool | str]) -> Health:
    return _judged_by(lambda copy: _lacking(_asked(healthy, copy), _name(healthy)))


def _status(status: Callable[[Sequence[Obj]], Obj]) -> MadeField:
    return MadeField(_STATUS, lambda _source, clusters: as_json(_asked(status, clusters)))


def _count(count: Callable[[Obj], int]) -> Count:
    def number(copy: Obj) -> int:
        try:
            found = _asked(count, copy)
        except Unanswered:
            return 0
        return found if isinstance(found, int) else 0

    return number


def _asked(function: Callable[[Any], Any], given: Any) -> Any:
    """Ask a function that somebody else wrote: whatever it raises is no answer."""
    try:
        return function(given)
    except Exception as error:  # one object's missing field must not stop the engine
        raise Unanswered(f"{_name(function)} raised {type(error).__name__}: {error}") from error


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _lacking(answer: bool | str, asked: str) -> Ailment | None:
    if isinstance(answer, str):
        return Ailment(answer) if answer else None
    return None if answer else Ailment(f"{asked} does not hold")


def by_kind(teachings: Sequence[Teaching]) -> Mapping[str, Teaching]:
    """Return what is taught in Python by the name of the kind; of two for one kind the later counts."""
    return {each.kind: each for each in teachings}
