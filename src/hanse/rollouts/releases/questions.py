"""What the checks of steps answer: asked beside the reconcilers, kept until it is written down in the release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hanse.kube.manifest import Key, Obj, dig, key_of, uid_of
from hanse.rollouts.environment import Check
from hanse.rollouts.execution import Answer
from hanse.rollouts.execution.asking import Asker
from hanse.rollouts.releases.errands import Errands


@dataclass(frozen=True, slots=True)
class _Question:
    """A check of one step of one release."""

    release: Key
    uid: str
    step: int
    check: str


class Questions:
    """Has checks asked, each once at a time."""

    def __init__(self, asker: Asker, back: Callable[[Key], None]) -> None:
        """`back` hears the release of whatever was answered."""
        self._asker = asker
        self._errands: Errands[_Question, Answer] = Errands(lambda question: back(question.release))

    async def run(self) -> None:
        """Ask until cancelled."""
        await self._errands.run()

    def answers(self, release: Obj) -> dict[str, Answer]:
        """Return what was answered for a release's present step and not written down yet."""
        found: dict[str, Answer] = {}
        for question in self._of(key_of(release)):
            if (question.uid, question.step) != _step(release):
                self._errands.forget(question)
            elif (answer := self._errands.fetch(question)) is not None:
                found[question.check] = answer
        return found

    def written(self, release: Key, answers: dict[str, Answer]) -> None:
        """Let answers go that are written down."""
        for question in self._of(release):
            if question.check in answers and self._errands.fetch(question) is answers[question.check]:
                self._errands.forget(question)

    def ask(self, release: Obj, check: Check) -> None:
        """Have a check asked, unless that is under way."""
        uid, step = _step(release)
        question = _Question(key_of(release), uid, step, check.name)
        self._errands.send(question, lambda: self._asker.ask(check))

    def forget(self, release: Key) -> None:
        """Let go whatever concerns a release."""
        for question in self._of(release):
            self._errands.forget(question)

    def _of(self, release: Key) -> list[_Question]:
        return [question for question in self._errands.known() if question.release == release]


def _step(release: Obj) -> tuple[str, int]:
    return uid_of(release), int(dig(release, "spec", "targetStep", default=0))
