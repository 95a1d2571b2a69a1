"""Rolling updates under any history: edits, deletions, crashes at any write, pods that are slow."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.composite.spec import Method
from tests.unit.composite.rolling_world import World, cats

events = st.one_of(
    st.tuples(st.just("sync"), st.none() | st.integers(0, 4)),
    st.tuples(st.just("ready"), st.integers(0, 4)),
    st.tuples(st.just("vanish"), st.none()),
    st.tuples(st.just("delete"), st.integers(0, 4)),
    st.tuples(st.just("template"), st.integers(1, 4)),
    st.tuples(st.just("scale"), st.integers(0, 5)),
)
histories = st.lists(events, min_size=5, max_size=30)
methods = st.sampled_from([Method.ROLLING_RECREATE, Method.ROLLING_IN_PLACE])


def play(world, event, value):
    """Let one thing happen."""
    name = f"cat-{value}"
    match event:
        case "sync":
            world.sync(value)
        case "ready" if name in world.pods:
            world.ready(name)
        case "vanish":
            world.vanish()
        case "delete" if name in world.pods:
            world.delete(name)
        case "template":
            world.change(template=value)
        case "scale":
            world.change(replicas=value)


def check_moves(world, before):
    """Whatever moved did so in the hook's order, passing over only what was at the latest already."""
    order = [child["metadata"]["name"] for child in cats(world.parent)]
    names = [child.name for child in world.last.moved]
    working = [name for name in names if before.get(name, "") == "True"]
    assert working == sorted(working, key=order.index)


def readiness(world):
    return {
        name: obj["status"]["conditions"][0]["status"]
        for name, obj in world.pods.items()
        if "status" in obj and "deletionTimestamp" not in obj["metadata"]
    }


def finish(world):
    """Let all pods become well until nothing is to be done."""
    for _ in range(40):
        world.settle()
        before = dict(world.pods), dict(world.revisions)
        world.sync()
        if (world.pods, world.revisions) == before:
            return
    raise AssertionError(f"the rollout does not end: {world.last.updated}")


@settings(max_examples=25, deadline=None)
@given(histories, methods, st.integers(1, 3))
def test_no_more_children_are_down_than_may_be_and_the_end_is_the_newest_revision(history, method, most):
    world = World(method, {"max_unavailable": most}).begin()
    for event, value in history:
        before = readiness(world)
        play(world, event, value)
        if event == "sync":
            check_moves(world, before)
        assert len(world.down) <= most, (event, value)

    finish(world)

    template, replicas = world.parent["spec"]["template"], world.parent["spec"]["replicas"]
    assert world.images() == str(template) * replicas
    assert {version: sorted(names) for version, names in world.claims().items()} == {template: sorted(world.pods)}
    assert world.last.updated["reason"] == "OnLatestRevision"
