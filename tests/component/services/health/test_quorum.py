"""Leader, checkers and votes together, on virtual time: who is asked, who counts, and who writes when."""

from functools import partial

from hanse.api.federation import HealthSettings
from hanse.api.health_reports import HEALTH_CHECK_ANNOTATION, HEALTH_REPORTS, HOST_CHECKER, cluster_checker
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.service_addresses import MIXED_LABEL, SERVICE_ADDRESSES
from hanse.kube.manifest import Key
from hanse.kube.resources import EVENTS, LEASES, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.services.health.attendance import SILENCE_SECONDS
from hanse.services.health.standing import State
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.health_world import HealthWorld, Temper
from tests.simulation.playing import quietly

WEB = Key("shop", "web0")
TERMS = HealthSettings(interval_seconds=1.0, timeout_seconds=0.5)
# The longest way from the death of an address to everybody's word on it.
BOUND_SECONDS = TERMS.fall * TERMS.interval_seconds * 1.1 + TERMS.timeout_seconds + 1


def in_a_world(script, clusters=4):
    """Make a test of a script: a world of its own, on virtual time from beginning to end."""

    async def play():
        world = HealthWorld(SeededRuntime(), clusters, terms=TERMS)
        try:
            await world.start()
            await world.runtime.sleep(4)
            await script(world)
        finally:
            await world.close()

    def test():
        with quietly():
            run_virtually(play)

    test.__name__ = script.__name__
    return test


def verdict(world, cluster):
    return world.view.verdict(WEB, cluster, world.services[WEB][cluster])


def state(world, cluster):
    return verdict(world, cluster).state


def answer(world):
    return {presence.cluster for presence in world.judged(WEB).presences if presence.live}


def noteworthy(world):
    wires = [world.leader_wire, *(vantage.wire for vantage in world.vantages.values())]
    return [write for wire in wires for write in wire.writes if "/leases" not in write[1]]


@in_a_world
async def test_every_checker_probes_every_address_and_then_is_silent(world):
    reports = (await world.host.list(HEALTH_REPORTS, SYSTEM_NAMESPACE)).items

    assert {report["spec"]["checker"] for report in reports} == set(world.vantages)
    assert {(report["status"]["aliveCount"], report["status"]["deadCount"]) for report in reports} == {(4, 0)}
    assert [state(world, cluster) for cluster in world.clusters] == [State.ALIVE] * 4
    await nothing_but_leases_is_written(world)
    await a_report_in_anothers_name_is_nobodys(world)


async def nothing_but_leases_is_written(world):
    before = len(noteworthy(world))
    await world.runtime.sleep(12)

    assert noteworthy(world)[before:] == []


async def a_report_in_anothers_name_is_nobodys(world):
    report = await world.host.get(HEALTH_REPORTS, f"{HOST_CHECKER}.web0.shop", SYSTEM_NAMESPACE)
    forged = {**report, "metadata": {"name": f"{HOST_CHECKER}.web0.shop", "namespace": "shop"}}
    await world.host.create(HEALTH_REPORTS, forged)
    await world.runtime.sleep(2)

    assert verdict(world, "c3").votes == 5
    assert len(world.electorate(WEB)) == 5


@in_a_world
async def test_a_dead_address_is_out_within_the_bound_and_each_checker_writes_once(world):
    before = len(noteworthy(world))
    world.dead.add(world.services[WEB]["c1"])
    await world.runtime.sleep(BOUND_SECONDS)

    assert state(world, "c1") is State.DEAD
    assert answer(world) == {"c0", "c2", "c3"}
    assert len(noteworthy(world)) - before == len(world.vantages)
    await comes_back(world)
    await what_is_mixed_from_others_is_not_probed(world)


async def what_is_mixed_from_others_is_not_probed(world):
    """The addresses of releases are probed where they come from."""
    metadata = {"labels": {MIXED_LABEL: "true"}}
    await world.host.patch(SERVICE_ADDRESSES, WEB.name, {"metadata": metadata}, WEB.namespace)
    await world.runtime.sleep(2)
    assert (await world.host.list(HEALTH_REPORTS, SYSTEM_NAMESPACE)).items == []


async def comes_back(world):
    """It is back only once it was well for a while."""
    world.dead.clear()
    await world.runtime.sleep(1)
    at_once = state(world, "c1")
    await world.runtime.sleep(TERMS.rise * TERMS.interval_seconds * 1.1 + TERMS.timeout_seconds)

    assert (at_once, state(world, "c1")) == (State.DEAD, State.ALIVE)


@in_a_world
async def test_two_of_five_do_not_take_an_address_out_and_three_do(world):
    for liar in ("cluster-c0", "cluster-c1"):
        world.vantages[liar].temper = Temper.ALL_DEAD
    await world.runtime.sleep(BOUND_SECONDS)
    two = verdict(world, "c3")
    world.vantages["cluster-c2"].unreachable.add(world.services[WEB]["c3"])
    await world.runtime.sleep(BOUND_SECONDS)
    three = verdict(world, "c3")

    assert (two.state, two.dead, two.votes) == (State.ALIVE, 2, 5)
    assert (three.state, three.dead, three.votes) == (State.DEAD, 3, 5)
    assert answer(world) == {"c0", "c1", "c2"}


@in_a_world
async def test_a_checker_that_is_cut_off_does_not_count(world):
    world.vantages["cluster-c0"].temper = Temper.ALL_DEAD
    await world.runtime.sleep(BOUND_SECONDS)
    world.vantages["cluster-c0"].wire.hanging = True
    await world.runtime.sleep(SILENCE_SECONDS + 2)
    without = verdict(world, "c3")
    world.vantages["cluster-c1"].task.cancel()
    await world.runtime.sleep(1)

    assert (without.dead, without.votes) == (0, 4)
    # One that ends gives its Lease back, and is not waited for.
    assert verdict(world, "c3").votes == 3


@in_a_world
async def test_neither_a_new_checker_nor_a_new_leader_changes_anything(world):
    world.dead.add(world.services[WEB]["c1"])
    await world.runtime.sleep(BOUND_SECONDS)
    before = len(noteworthy(world))
    await world.kill_checker("cluster-c0")
    world.start_checker("cluster-c0")
    await world.runtime.sleep(10)

    assert (verdict(world, "c1").dead, verdict(world, "c1").votes) == (5, 5)
    # It signs its one report anew, and tells the same in it.
    assert len(noteworthy(world)) - before == 1
    await world.depose()
    world.lead()
    await world.view.wait_settled()
    assert (state(world, "c1"), answer(world)) == (State.DEAD, {"c0", "c2", "c3"})


@in_a_world
async def test_what_was_told_before_a_silence_does_not_count_after_it(world):
    address, cut = world.services[WEB]["c3"], ("cluster-c0", "cluster-c1", "cluster-c2")
    world.dead.add(address)
    await world.runtime.sleep(BOUND_SECONDS)
    for checker in cut:
        await world.kill_checker(checker)
    await world.runtime.sleep(SILENCE_SECONDS + 2)
    world.dead.clear()
    await world.runtime.sleep(BOUND_SECONDS)
    for checker in cut:
        world.start_checker(checker)
    states = set()
    for _ in range(40):
        await world.runtime.sleep(0.25)
        states.add(state(world, "c3"))

    assert states == {State.ALIVE}
    assert verdict(world, "c3").votes == 5


@in_a_world
async def test_the_word_of_those_that_are_gone_for_long_does_not_count_for_a_new_leader(world):
    for liar in ("cluster-c0", "cluster-c1", "cluster-c2"):
        world.vantages[liar].temper = Temper.ALL_DEAD
    await world.runtime.sleep(BOUND_SECONDS)
    for liar in ("cluster-c0", "cluster-c1", "cluster-c2"):
        await world.kill_checker(liar)
    await world.depose()
    world.lead()
    await world.view.wait_settled()

    assert (verdict(world, "c3").dead, verdict(world, "c3").votes) == (0, 2)


@in_a_world
async def test_an_offline_cluster_stays_while_others_reach_it_and_something_always_stays(world):
    world.offline.add("c1")
    kept = answer(world)
    world.dead.add(world.services[WEB]["c1"])
    await world.runtime.sleep(BOUND_SECONDS)

    assert (kept, answer(world)) == ({"c0", "c1", "c2", "c3"}, {"c0", "c2", "c3"})
    world.dead.update(world.services[WEB].values())
    await world.runtime.sleep(BOUND_SECONDS)
    assert answer(world) == {"c0", "c1", "c2", "c3"}
    assert world.judged(WEB).failed_open


@in_a_world
async def test_what_nobody_needs_any_more_is_removed_and_what_a_silent_checker_told_stays(world):
    await world.kill_checker("cluster-c0")
    await world.kill_checker("cluster-c1")
    await world.host.delete(LEASES, "checker-cluster-c0", SYSTEM_NAMESPACE)
    await world.runtime.sleep(SILENCE_SECONDS + 3)
    checkers = {report["spec"]["checker"] for report in (await world.host.list(HEALTH_REPORTS)).items}

    assert checkers == set(world.vantages) - {"cluster-c0"}
    await world.host.delete(SERVICE_ADDRESSES, WEB.name, WEB.namespace)
    await world.runtime.sleep(2)
    assert (await world.host.list(HEALTH_REPORTS)).items == []


@partial(in_a_world, clusters=7)
async def test_of_many_checkers_five_look_after_a_service(world):
    asked = {vantage.checker for vantage in world.electorate(WEB)}
    await world.kill_checker(min(asked))
    await world.runtime.sleep(SILENCE_SECONDS + 5)
    without = verdict(world, "c3")

    assert len(asked) == 5
    assert (without.alive, without.votes) == (5, 5)


def service(annotation):
    metadata = {"name": WEB.name, "namespace": WEB.namespace, "annotations": {HEALTH_CHECK_ANNOTATION: annotation}}
    spec = {"ports": [{"port": 80}], "type": "ExternalName", "externalName": "web.example"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


async def asked_check(world):
    report = await world.host.get(HEALTH_REPORTS, f"{HOST_CHECKER}.web0.shop", SYSTEM_NAMESPACE)
    return report["spec"]["check"]


@in_a_world
async def test_the_annotation_of_a_service_says_how_it_is_probed(world):
    plain = await asked_check(world)
    await world.host.create(SERVICES, service('{"type": "http", "path": "/live", "fall": 5}'))
    await world.runtime.sleep(1)
    asked = await asked_check(world)

    assert (plain["type"], plain["port"], plain["fall"]) == ("tcp", 80, 3)
    assert (asked["type"], asked["port"], asked["fall"], asked["path"]) == ("http", 80, 5, "/live")
    await nonsense_is_said_once_and_changes_nothing(world)


async def nonsense_is_said_once_and_changes_nothing(world):
    await world.host.patch(
        SERVICES, WEB.name, {"metadata": {"annotations": {HEALTH_CHECK_ANNOTATION: "{}"}}}, WEB.namespace
    )
    await world.runtime.sleep(1)
    await world.kill_checker(cluster_checker("c0"))
    await world.runtime.sleep(SILENCE_SECONDS + 2)
    events = (await world.host.list(EVENTS, WEB.namespace)).items

    assert (await asked_check(world))["path"] == "/live"
    assert [(event["reason"], event["count"]) for event in events] == [("HealthCheckNotUnderstood", 1)]
    assert "field type: must be one of tcp" in events[0]["message"]
