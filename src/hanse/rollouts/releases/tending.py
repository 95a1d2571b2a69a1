"""One look at an application's releases: schedule them, execute their strategies, let those go that were deleted.

Decisions are made on what the host has stored, and every write says which version it was decided on: one that came too
late is refused, and the application looked at again. The release is written before its targets, capacity before
traffic, so that whoever dies in between leaves nothing behind that another look would not decide as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from hanse.api.shipper.kinds import PAUSED_ANNOTATION, ROLLOUT_FINALIZER
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Key, Obj, annotations_of, dig, finalizers_of, is_deleting, key_of
from hanse.kube.runtime import Runtime, timestamp
from hanse.rollouts.applications.releases import belongs as is_of
from hanse.rollouts.applications.releases import is_complete
from hanse.rollouts.blocks.standing import Blocked, standing
from hanse.rollouts.environment import EnvironmentProblem, Remedy
from hanse.rollouts.execution import ClusterFacts, Execution, Patch, ReleaseView, execute
from hanse.rollouts.execution.progress import carried_out, held
from hanse.rollouts.releases.choosing import Unscheduled
from hanse.rollouts.releases.departing import GOES, Farewell, farewell, has_anything
from hanse.rollouts.releases.questions import Questions
from hanse.rollouts.releases.scheduling import Scheduler
from hanse.rollouts.releases.status import BLOCKED, Findings, means_the_same, next_status
from hanse.rollouts.releases.stored import Company, Stored, company, find
from hanse.rollouts.releases.writing import ReleaseWriter
from hanse.rollouts.shelf import Shelf, generation_of

_FAILED = "StrategyExecutionFailed"
_WORDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Case:
    """A release that was looked at, and what stands in its way."""

    blocked: Blocked | None = None
    scheduled: Unscheduled | bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing can be said of it yet: it is being rendered, or asks for nothing."""
        return self.blocked is None and self.scheduled is None

    @property
    def executable(self) -> bool:
        return self.blocked is None and self.scheduled is True


@dataclass(slots=True)
class _Look:
    """What one look has found so far; `stored` is kept up with one's own writes."""

    company: Company
    application: Obj | None
    facts: dict[str, ClusterFacts]
    stored: dict[Key, Stored] = field(default_factory=dict)
    views: dict[Key, ReleaseView] = field(default_factory=dict)
    cases: dict[Key, _Case] = field(default_factory=dict)
    waits: list[float | None] = field(default_factory=list)

    @property
    def reachable(self) -> set[str]:
        return {name for name, facts in self.facts.items() if not facts.unreachable}

    def view(self, release: Obj | None) -> ReleaseView | None:
        if release is None:
            return None
        key = key_of(release)
        if key not in self.views:
            self.views[key] = self.stored[key].view()
        return self.views[key]

    def previous(self, place: int) -> Obj | None:
        """Return the release before one, of those that have anything in clusters."""
        older = reversed(self.company.living[:place])
        return next((each for each in older if self.stored[key_of(each)].is_committed), None)

    def heir(self, candidates: Sequence[Obj]) -> Obj | None:
        """Return the newest of these releases that was rolled out completely, and that nobody stepped back from."""
        found = (self.stored[key_of(each)] for each in reversed(candidates))
        complete = (each for each in found if each.is_committed and is_complete(each.release))
        return next((each.release for each in complete), None)

    def successor(self, place: int) -> Obj | None:
        """Return the release after one, of those that have anything in clusters; the newest one in any case.

        Who has nothing leads nobody: the newest one moves the same predecessor.
        """
        newer = self.company.living[place + 1 :]
        committed = (each for each in newer[:-1] if self.stored[key_of(each)].is_committed)
        return next(committed, newer[-1] if newer else None)

    def soonest(self) -> float | None:
        return min((wait for wait in self.waits if wait is not None), default=None)


class Tending:
    """Brings an application's releases one step further."""

    def __init__(
        self, shelf: Shelf, scheduler: Scheduler, writer: ReleaseWriter, questions: Questions, runtime: Runtime
    ) -> None:
        self._shelf = shelf
        self._scheduler = scheduler
        self._writer = writer
        self._questions = questions
        self._runtime = runtime
        # When each release was written last: nobody needs every word of pods that become ready one by one.
        self._told: dict[Key, float] = {}

    def forget(self, release: Key) -> None:
        """Let go what is remembered of a release that is gone."""
        self._told.pop(release, None)

    async def tend(self, application: Key, facts: dict[str, ClusterFacts]) -> float | None:
        """Do what can be done now; returns after how many seconds time alone may bring more."""
        owner = self._shelf.applications.get(application)
        found = company(self._shelf.releases_of(application), owner)
        look = _Look(found, owner, facts)
        self._observe(look, (*found.living, *found.leaving))
        misplaced = found.misplaced()
        if misplaced is not None:
            await self._tell(look, misplaced, Findings(problem=(_FAILED, _misplaced(misplaced))))
            return None
        for release in reversed(found.living):
            look.cases[key_of(release)] = await self._prepare(look, release)
        for place in reversed(range(len(found.living))):
            await self._execute(look, place)
        for release in found.leaving:
            await self._part_with(look, release)
        return look.soonest()

    def _observe(self, look: _Look, releases: Iterable[Obj]) -> None:
        for release in releases:
            look.stored[key_of(release)] = find(self._shelf, release)
            look.views.pop(key_of(release), None)

    async def _prepare(self, look: _Look, release: Obj) -> _Case:
        """See whether a release may go on, and give it what it needs for that."""
        blocked = standing(release, self._shelf.blocks)
        if blocked is not None or not release["spec"].get("environment"):
            return _Case(blocked=blocked)
        scheduled = await self._scheduler.schedule(release)
        self._observe(look, (release,))
        look.waits.append(scheduled.again)
        return _Case(scheduled=scheduled.problem or scheduled.ready or None)

    async def _execute(self, look: _Look, place: int) -> None:
        """Decide what a release needs next, write it down, and do it."""
        release = look.company.living[place]
        case = look.cases[key_of(release)]
        try:
            view = look.view(release)
            successor = look.view(look.successor(place))
            previous = look.view(look.previous(place))
            head = look.view(look.company.head) if successor is not None else None
        except EnvironmentProblem as problem:
            await self._tell(look, release, Findings(case.blocked, case.scheduled, problem=(_FAILED, str(problem))))
            return
        if case.is_open and not is_true(_conditions(release), BLOCKED):
            return
        if view is None or not case.executable:
            progress = held(view, self._runtime.now()) if view is not None and case.blocked is not None else None
            await self._tell(look, release, Findings(case.blocked, case.scheduled, progress=progress))
            return
        answers = self._questions.answers(release)
        execution = execute(
            view,
            previous=previous,
            successor=successor,
            head=head,
            now=self._runtime.now(),
            answers=answers,
            cluster_facts=look.facts,
        )
        look.waits.append(execution.look_again)
        if successor is not None:
            # Followers wait for the newest release and for nothing else: not worth a write of each at every step.
            execution = replace(execution, waits_for="")
        await self._tell(look, release, Findings(None, True, execution))
        self._questions.written(key_of(release), answers)
        await self._patch(look, execution.patches)
        await self._go_on(look, place, execution)

    async def _go_on(self, look: _Look, place: int, execution: Execution) -> None:
        """Do what is not about numbers: ask, advance, or undo."""
        release = look.stored[key_of(look.company.living[place])].release
        for check in execution.ask:
            self._questions.ask(release, check)
        if execution.advance is not None:
            await self._writer.advance(release, execution.advance)
        if execution.remedy is not None:
            await self._remedy(look, place, execution.remedy, execution)

    async def _remedy(self, look: _Look, place: int, remedy: Remedy, execution: Execution) -> None:
        """Do what a failed check or a missed deadline asks for; without a release to return to, wait for a person."""
        release = look.stored[key_of(look.company.living[place])].release
        previous, why = look.previous(place), execution.waits_for
        if remedy is Remedy.ABORT and previous is not None:
            await self._writer.abort(release, why)
            return
        if remedy is Remedy.ROLLBACK and previous is not None and look.application is not None:
            await self._writer.roll_back(release, look.application, previous, why)
        else:
            await self._writer.pause(release, why)
        self._observe(look, (release,))
        done = Findings(None, True, progress=carried_out(execution.progress), waits_for=why)
        await self._tell(look, release, done)

    async def _part_with(self, look: _Look, release: Obj) -> None:
        """Let a deleted release go, or give what it has to the one that takes its place."""
        if ROLLOUT_FINALIZER not in finalizers_of(release):
            return
        decided = GOES if _is_abandoned(release, look.application) else self._farewell(look, release)
        if decided.goes:
            await self._writer.let_go(look.stored[key_of(release)].release)
            return
        await self._tell(look, release, Findings(None, None, waits_for=decided.waits_for))
        await self._patch(look, decided.patches)

    def _farewell(self, look: _Look, release: Obj) -> Farewell:
        living = look.company.living
        head = look.company.head
        if head is None:
            return GOES
        replaced = _order(release) < _order(head)
        heir = look.heir(living[:-1] if replaced else living)
        frozen = any(_is_frozen(each, look) for each in (head, heir) if each is not None)
        leaving = _bare(look.stored[key_of(release)]).view()
        try:
            last, next_one = look.view(head), look.view(heir)
        except EnvironmentProblem as problem:
            told = f"it goes once the strategies of those that stay can be read: {problem}"
            return Farewell(waits_for=told) if has_anything(leaving) else GOES
        return farewell(leaving, head=last, heir=next_one, reachable=look.reachable, frozen=frozen, replaced=replaced)

    async def _tell(self, look: _Look, release: Obj, findings: Findings) -> None:
        key = key_of(release)
        current, now = look.stored[key].release, self._runtime.monotonic()
        status = next_status(current, findings, timestamp(self._runtime.now()))
        left = self._told.get(key, -_WORDS_SECONDS) + _WORDS_SECONDS - now
        if left > 0 and current.get("status") != status and means_the_same(current.get("status") or {}, status):
            look.waits.append(left)
            return
        if await self._writer.status(current, status) is not current:
            self._told[key] = now
            self._observe(look, (release,))

    async def _patch(self, look: _Look, patches: Iterable[Patch]) -> None:
        for patch in sorted(patches, key=lambda each: each.kind):
            await self._writer.numbers(patch, look.stored)
            if patch.release in look.stored:
                self._observe(look, (look.stored[patch.release].release,))


def _conditions(release: Obj) -> list[Obj]:
    found: list[Obj] = dig(release, "status", "conditions", default=[])
    return found


def _bare(leaving: Stored) -> Stored:
    """Return a release without its strategy: one that is leaving has its numbers, whatever that says."""
    release = leaving.release
    return replace(leaving, release={**release, "spec": {**release["spec"], "environment": {}}})


def _is_abandoned(release: Obj, application: Obj | None) -> bool:
    """Tell whether the application that a release is of is going or gone: then nobody takes its place."""
    return application is None or is_deleting(application) or not is_of(release, application)


def _is_frozen(release: Obj, look: _Look) -> bool:
    paused = annotations_of(look.stored[key_of(release)].release).get(PAUSED_ANNOTATION) == "true"
    return paused or look.cases[key_of(release)].blocked is not None


def _order(release: Obj) -> float:
    generation = generation_of(release)
    return float("inf") if generation is None else generation


def _misplaced(release: Obj) -> str:
    said = (
        "its annotation shipper.booking.com/release.generation is no number, so that nobody knows what came before it"
    )
    return f"Release {key_of(release)}: {said}"
