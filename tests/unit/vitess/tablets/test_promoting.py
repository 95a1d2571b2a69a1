"""A promotion whose answer was lost is not overtaken by another one, whoever looks next."""

from dataclasses import replace

import pytest

from hanse.api.vitess_records.topology import Shard, Tablet, TabletAlias, TabletType, Time
from hanse.vitess.tablets.calling import failure
from hanse.vitess.tablets.promoting import later_primary
from hanse.vitess.topology import paths
from tests.unit.vitess.tablets.company import KEYSPACE, SHARD
from tests.unit.vitess.tablets.test_passes import A, B, C, begin, play, with_primary

PRIMARY, REPLICA = TabletType.PRIMARY, TabletType.REPLICA


@pytest.mark.parametrize(
    ("tablets", "found"),
    [
        ({}, None),
        ({B: (REPLICA, 20)}, None),
        ({A: (PRIMARY, 20)}, None),
        ({B: (PRIMARY, 5)}, None),
        ({B: (PRIMARY, None)}, None),
        ({B: (PRIMARY, 20)}, B),
        ({B: (PRIMARY, 20), C: (PRIMARY, 30)}, C),
    ],
)
def test_the_primary_with_the_later_term_is_the_one_that_the_record_does_not_name_yet(tablets, found):
    records = [
        Tablet(alias=alias, type=kind, primary_term_start_time=None if term is None else Time(term))
        for alias, (kind, term) in tablets.items()
    ]
    assert later_primary(Shard(A, primary_term_start_time=Time(10)), records) == found


def test_while_a_promotion_that_nobody_answered_for_may_have_worked_no_other_tablet_is_promoted():
    async def scene(company):
        pods, passes = await with_primary(company)
        promote = company.ask_vtctld

        async def half_done(address, method, question, timeout):
            """Promote a tablet, and be gone before its shard says so; the tablet falls silent, too."""
            term = Time.of(company.runtime.now())
            claim = {"type": PRIMARY, "primary_term_start_time": term}
            await company.topology.update(paths.tablet(question.new_primary), lambda found: replace(found, **claim))
            company.tablets[question.new_primary].mysql.up = False
            raise failure("vtctld", method.name, "no answer in time", answered=False)

        company.ask_vtctld = half_done
        pods.start(A)
        for _ in range(2):
            await pods.look(company, passes)
        asked = []

        async def counted(*question):
            asked.append(question)
            return await promote(*question)

        company.ask_vtctld = counted
        for _ in range(3):
            outcome = await pods.look(company, passes)
        assert (asked, outcome.again) == ([], 5)
        return pods

    assert play(scene).told == ["PlannedReparentFailed", *["NotReparentingPrimary"] * 3]


def test_while_somebody_holds_the_lock_of_the_shard_its_primary_is_not_changed():
    async def scene(company):
        pods, passes = await with_primary(company)
        pods.start(A)
        async with await company.topology.lock(paths.shard_directory(KEYSPACE, SHARD), "PlannedReparentShard"):
            for _ in range(2):
                await pods.look(company, passes)
            assert company.primaries() == [A]
        await pods.look(company, passes)
        assert company.primaries() == [B]
        return pods

    assert play(scene).told == ["NotReparentingPrimary", "PlannedReparent"]


def test_whoever_was_asked_to_be_the_first_primary_and_did_not_answer_is_asked_again_and_nobody_else():
    async def scene(company):
        for alias in (A, B, C):
            await company.add(alias.cell, alias.uid, database=True)
        answer = company.ask

        async def lost(tablet, method, question, timeout):
            if method.name == "PromoteReplica":
                company.tablets[tablet.alias].mysql.up = False
                raise failure(f"tablet {tablet.alias}", method.name, "no answer in time", answered=False)
            return await answer(tablet, method, question, timeout)

        company.ask = lost
        assert await begin(company) == ["InitShardFailed"]
        company.ask = answer
        assert await begin(company) == ["InitShardFailed"], "the others could be promoted, and may be too many then"
        assert company.primaries() == []
        company.tablets[A].mysql.up = True
        assert await begin(company) == ["InitShardPrimary"]
        assert await company.topology.names("global", "hanse/promotions") == ()
        return company.primaries()

    assert play(scene) == [A]


def test_one_that_refuses_or_has_left_topology_is_not_waited_for():
    async def scene(company):
        for alias in (A, B):
            await company.add(alias.cell, alias.uid, database=True)
        store = await company.topology.store("global")
        await store.create(paths.promotion(KEYSPACE, SHARD), str(TabletAlias("zone1", 9)).encode())
        answer = company.ask

        async def refuses(tablet, method, question, timeout):
            if method.name == "PromoteReplica":
                raise failure(f"tablet {tablet.alias}", method.name, "it does not want to")
            return await answer(tablet, method, question, timeout)

        company.ask = refuses
        assert await begin(company) == ["InitShardFailed"]
        company.ask, company.tablets[A].mysql.up = answer, False
        assert await begin(company) == ["InitShardPrimary"]
        return company.primaries()

    assert play(scene) == [B]
