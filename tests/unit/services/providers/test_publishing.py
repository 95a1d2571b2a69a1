"""What is to be changed in a zone: names claimed, kept, left alone, taken out; as values."""

import pytest

from hanse.kube.manifest import Key
from hanse.propagation.blast import BlastTerms
from hanse.services.providers.interface import Change, plain
from hanse.services.providers.ownership import Claim, claim_record
from hanse.services.providers.publishing import (
    Plan,
    Step,
    Terms,
    batches,
    owned_records,
    plan_changes,
    withdrawal,
)
from hanse.services.providers.zone_view import ZoneView
from hanse.services.records import Datum, RecordSet

WEB, SHOP = Key("default", "web"), Key("default", "shop")
NAME = "web.default.fed.example.com"
TERMS = Terms("example.com", "fed-1", plain)


def a(name, *addresses, ttl=180):
    return RecordSet(name, "A", ttl, tuple(Datum(each) for each in sorted(addresses)))


def cname(name, target):
    return RecordSet(name, "CNAME", 180, (Datum(target),))


def claim(name, owner="fed-1", service=WEB):
    return claim_record(name, Claim(owner, service))


def planned(wanted, *found, terms=TERMS):
    return plan_changes(wanted, ZoneView(found), terms)


def only_changes(plan):
    return [change for step in plan.steps for change in step.changes]


def test_a_new_name_is_claimed_before_it_gets_records():
    plan = planned({WEB: [a(NAME, "192.0.2.1")]})
    assert only_changes(plan) == [Change(None, claim(NAME)), Change(None, a(NAME, "192.0.2.1"))]
    assert claim(NAME).name == f"_hanse.{NAME}"


def test_what_is_there_already_needs_nothing():
    assert planned({WEB: [a(NAME, "192.0.2.1")]}, claim(NAME), a(NAME, "192.0.2.1")) == Plan()


def test_many_addresses_in_another_order_are_the_same_set():
    wanted = RecordSet(NAME, "A", 180, (Datum("192.0.2.2", "east"), Datum("192.0.2.1", "west", 3, "10.0.0.1")))
    assert planned({WEB: [wanted]}, claim(NAME), a(NAME, "192.0.2.1", "192.0.2.2")) == Plan()


def test_an_address_in_another_spelling_is_the_same():
    wanted = RecordSet(NAME, "AAAA", 180, (Datum("2001:0DB8:0::0001"),))
    assert planned({WEB: [wanted]}, claim(NAME), RecordSet(NAME, "AAAA", 180, (Datum("2001:db8::1"),))) == Plan()


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ([a(NAME, "203.0.113.1")], "is in the zone already and is not this federation's"),
        ([RecordSet(NAME, "MX", 60, (Datum("0 mail."),))], "is in the zone already and is not this federation's"),
        ([a(NAME, "203.0.113.1"), claim(NAME, "fed-2")], "belongs to the federation fed-2"),
        ([claim(NAME, "fed-2")], "belongs to the federation fed-2"),
        (
            [RecordSet(f"_hanse.{NAME}", "TXT", 300, tuple(sorted([*claim(NAME).data, *claim(NAME, "fed-2").data])))],
            "belongs to the federation fed-1 and fed-2",
        ),
        ([RecordSet(f"_hanse.{NAME}", "TXT", 300, (Datum('"hello"'),))], "belongs to the federation somebody else"),
    ],
    ids=["addresses", "another type", "another federation", "a bare claim", "two claims", "a text of somebody's"],
)
def test_a_name_that_is_not_the_federations_is_left_alone(found, why):
    plan = planned({WEB: [a(NAME, "192.0.2.1")]}, *found)
    assert plan.steps == plan.departures == ()
    assert [each.name for each in plan.conflicts] == [NAME]
    assert why in str(plan.conflicts[0])


def test_one_conflict_holds_up_no_other_name():
    other = "shop.default.fed.example.com"
    plan = planned({WEB: [a(NAME, "192.0.2.1")], SHOP: [a(other, "192.0.2.2")]}, a(NAME, "203.0.113.1"))
    assert [step.name for step in plan.steps] == [other]


def test_addresses_give_way_to_an_alias_in_one_step():
    plan = planned({WEB: [cname(NAME, "x.example.com.")]}, claim(NAME), a(NAME, "192.0.2.1"))
    assert plan.steps == (
        Step(NAME, WEB, (Change(a(NAME, "192.0.2.1"), None), Change(None, cname(NAME, "x.example.com.")))),
    )


def test_a_record_of_another_type_at_a_name_of_ours_stays_and_forbids_an_alias():
    theirs = RecordSet(NAME, "MX", 60, (Datum("0 mail."),))
    found = claim(NAME), a(NAME, "192.0.2.1"), theirs
    assert only_changes(planned({WEB: []}, *found)) == []
    assert [step.changes for step in planned({WEB: []}, *found).departures] == [
        (Change(a(NAME, "192.0.2.1"), None), Change(claim(NAME), None))
    ]
    plan = planned({WEB: [cname(NAME, "x.example.com.")]}, *found)
    assert "cannot become a CNAME beside the MX record" in str(plan.conflicts[0])


def test_a_name_that_nobody_wants_goes_and_its_claim_goes_last():
    other = f"eu.{NAME}"
    found = claim(NAME), a(NAME, "192.0.2.1"), claim(other), cname(other, f"{NAME}.")
    plan = planned({WEB: [a(NAME, "192.0.2.1")]}, *found)
    assert only_changes(plan) == [Change(cname(other, f"{NAME}."), None), Change(claim(other), None)]


def test_a_claim_that_a_crash_left_without_records_is_used_or_removed():
    assert only_changes(planned({WEB: [a(NAME, "192.0.2.1")]}, claim(NAME))) == [Change(None, a(NAME, "192.0.2.1"))]
    assert planned({}, claim(NAME)).departures == (Step(NAME, WEB, (Change(claim(NAME), None),)),)


def test_names_outside_of_the_zone_are_not_its_business():
    assert planned({WEB: [a("web.default.fed.example.org", "192.0.2.1")]}) == Plan()
    assert planned({WEB: [a("web.notexample.com", "192.0.2.1")]}) == Plan()


def test_a_name_that_dns_cannot_have_is_told_and_holds_up_no_other():
    long = ".".join(["x" * 60] * 4) + ".example.com"
    label = f"{'y' * 64}.example.com"
    plan = planned({WEB: [a(long, "192.0.2.1"), a(label, "192.0.2.1"), a(NAME, "192.0.2.1")]})
    assert [step.name for step in plan.steps] == [NAME]
    assert [str(each).split(" ", 1)[1] for each in plan.conflicts] == [
        "is too long for DNS by 9 characters; shorten the name or the namespace",
        "has a label of more than 63 characters",
    ]


def fleet(count):
    """So many services with a name each, as wanted and as found."""
    wanted, found = {}, []
    for index in range(count):
        key, name = Key("default", f"s{index:02}"), f"s{index:02}.default.fed.example.com"
        wanted[key] = [a(name, "192.0.2.1")]
        found += [claim(name, service=key), a(name, "192.0.2.1")]
    return wanted, found


@pytest.mark.parametrize(("count", "staying", "waits"), [(30, 15, False), (30, 9, True), (19, 0, False), (20, 0, True)])
def test_the_last_names_of_most_services_wait_for_a_person(count, staying, waits):
    wanted, found = fleet(count)
    left = dict(list(wanted.items())[:staying])
    plan = planned(left, *found)
    assert len(plan.departures) == count - staying
    assert (plan.leaving is not None) == waits
    if plan.leaving is not None:
        assert (plan.leaving.objects, plan.leaving.of) == (count - staying, count)


def test_losing_a_clusters_names_in_every_service_is_no_such_change():
    wanted, found = fleet(30)
    for key in wanted:
        found += [claim(f"eu.{key.name}.example.com", service=key), a(f"eu.{key.name}.example.com", "192.0.2.9")]
    plan = planned(wanted, *found, terms=Terms("example.com", "fed-1", plain, BlastTerms(least=1, share=0.0)))
    assert (len(plan.steps), plan.departures, plan.leaving) == (30, (), None)


def test_withdrawing_takes_exactly_what_is_the_federations():
    theirs = [a("x.example.com", "203.0.113.1"), claim("y.example.com", "fed-2"), a("y.example.com", "203.0.113.2")]
    view = ZoneView([claim(NAME), a(NAME, "192.0.2.1"), *theirs])
    steps = withdrawal(view, "fed-1")
    assert [step.name for step in steps] == [NAME]
    view.take([change for step in steps for change in step.changes])
    assert owned_records(view, "fed-1") == 0
    assert owned_records(view, "fed-2") == 1


def test_batches_keep_the_changes_of_a_name_together():
    steps = planned({WEB: [a(f"n{index}.example.com", "192.0.2.1", "192.0.2.2") for index in range(5)]}).steps
    # Each name brings a claim and two addresses.
    assert [len(batch) for batch in batches(steps, 7)] == [2, 2, 1]
    assert [len(batch) for batch in batches(steps, 1)] == [1, 1, 1, 1, 1]
    assert [step for batch in batches(steps, 7) for step in batch] == list(steps)


def test_a_plan_on_its_own_result_is_empty():
    wanted = {WEB: [a(NAME, "192.0.2.1"), cname(f"eu.{NAME}", f"{NAME}.")], SHOP: [a("shop.example.com", "192.0.2.3")]}
    view = ZoneView([claim("old.example.com"), a("old.example.com", "192.0.2.7")])
    plan = plan_changes(wanted, view, TERMS)
    view.take([change for step in (*plan.steps, *plan.departures) for change in step.changes])
    assert plan_changes(wanted, view, TERMS) == Plan()
