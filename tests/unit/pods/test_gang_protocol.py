"""A gang that follows its orders ends bound whole in one target that can run it, or is nowhere at all."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.api.admiralty.keys import GANG, TARGET
from hanse.pods.gangs import Orders, gathered, may_bind, ordered
from hanse.pods.placeholder.reading import Answer, answers_text
from hanse.pods.wishes.neighbours import Neighbour
from tests.unit.pods.wishes.scenes import placeholder

few = settings() if settings().max_examples > 100 else settings(max_examples=15)
ROUNDS = 40


@dataclass
class Pod:
    """One member: where it is, which targets said no, and whether it is bound."""

    name: str
    target: str = ""
    bound: bool = False
    answers: set[str] = field(default_factory=set)

    @property
    def placeholder(self):
        annotations = {
            GANG: "all",
            "pods.hanse.dev/answers": answers_text({t: Answer(0, "full") for t in self.answers}) or "{}",
        }
        if self.bound:
            annotations[TARGET] = self.target
        made = placeholder(self.name, annotations=annotations)
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j", "controller": True}
        made["metadata"]["ownerReferences"] = [reference]
        return made


class Stage:
    """Targets that have room for so many pods, and are believed to have room for as many as they tell."""

    def __init__(self, size, rooms, told):
        self.pods = [Pod(f"p{index}") for index in range(size)]
        self.owner = {"kind": "Job", "spec": {"parallelism": size}}
        self.rooms = {f"t{index}": room for index, room in enumerate(rooms)}
        self.told = {f"t{index}": count for index, count in enumerate(told)}

    def neighbours(self):
        return [Neighbour(pod.placeholder, pod.target) for pod in self.pods]

    def has_node(self, pod):
        there = [each for each in self.pods if each.target == pod.target]
        return bool(pod.target) and there.index(pod) < self.rooms[pod.target]

    def place(self, pod):
        """Do what the engine does with a member's orders: take it away, or give it to the first target with room."""
        own = pod.placeholder
        gang = gathered(own, self.neighbours(), self.owner)
        orders = ordered(own, gang, [name for name in self.rooms if name not in pod.answers])
        if not isinstance(orders, Orders) or pod.bound:
            return
        fitting = [name for name in orders.targets if self.told[name] >= orders.together]
        if pod.target in orders.targets:
            return
        if pod.target:
            assert orders.withdrawn or orders.targets
            pod.target = ""
        elif fitting:
            pod.target = fitting[0]

    def keep(self, pod):
        """Do what the keeper of placeholders does: bind the one that may be, note the target that has no node."""
        if not pod.target or pod.bound:
            return
        gang = gathered(pod.placeholder, self.neighbours(), self.owner)
        by_name = {each.name: each for each in self.pods}
        if not self.has_node(pod):
            pod.answers.add(pod.target)
        elif may_bind(pod.placeholder, gang, lambda each: self.has_node(by_name[each["metadata"]["name"]])):
            pod.bound = True

    def check(self):
        bound = {pod.target for pod in self.pods if pod.bound}
        assert len(bound) <= 1
        for target in bound:
            # Nobody is bound where not all of them have found a node.
            assert self.rooms[target] >= len(self.pods)


ROOMS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=3)


@few
@given(size=st.integers(1, 4), rooms=ROOMS, data=st.data())
def test_a_gang_is_bound_whole_or_nowhere(size, rooms, data):
    told = [room + more for room, more in rooms]
    stage = Stage(size, [room for room, _ in rooms], told)
    orders = data.draw(st.permutations(range(size)))
    for _ in range(ROUNDS):
        before = repr(stage.pods)
        for index in orders:
            stage.place(stage.pods[index])
            stage.keep(stage.pods[index])
            stage.check()
        if repr(stage.pods) == before:
            break
    could = [room for room, _ in rooms if room >= size]
    if could:
        assert all(pod.bound for pod in stage.pods)
    else:
        assert all(not pod.target for pod in stage.pods)
