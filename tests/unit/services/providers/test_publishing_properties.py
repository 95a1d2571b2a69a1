"""Publishing under any zone, any wish and a crash at any batch: nobody else's changes, and the end is the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.kube.manifest import Key
from hanse.services.providers.interface import plain
from hanse.services.providers.ownership import Claim, claim_record, claimed_name
from hanse.services.providers.publishing import (
    Plan,
    Terms,
    batches,
    changed_services,
    plan_changes,
    settled_services,
)
from hanse.services.providers.zone_view import ZoneView
from hanse.services.records import Datum, RecordSet

NAMES = [f"{name}.example.com" for name in ("a", "b", "c", "d", "x.a")]
SERVICES = [Key("default", name) for name in ("one", "two")]
TERMS = Terms("example.com", "fed-1", plain)

names = st.sampled_from(NAMES)
addresses = st.sets(st.sampled_from(["192.0.2.1", "192.0.2.2", "192.0.2.3"]), min_size=1)


def _record(name, kind, values):
    return RecordSet(name, kind, 180, tuple(Datum(value) for value in sorted(values)))


@st.composite
def at_name(draw, name):
    """What a name has: a CNAME alone, or addresses of one or both families."""
    if draw(st.booleans()):
        return [_record(name, "CNAME", {"target.example.com."})]
    found = [_record(name, "A", draw(addresses))]
    return [*found, _record(name, "AAAA", {"2001:db8::1"})] if draw(st.booleans()) else found


@st.composite
def zones(draw):
    """A zone in which each name is nobody's, somebody's, another federation's, or this one's; some claims are bare."""
    records = [_record("example.com", "SOA", {"serial 1"})]
    for name in NAMES:
        sort = draw(st.sampled_from(["free", "theirs", "other", "mine", "bare"]))
        if sort not in ("free", "theirs"):
            owner = "fed-2" if sort == "other" else "fed-1"
            records.append(claim_record(name, Claim(owner, draw(st.sampled_from(SERVICES)))))
        if sort in ("theirs", "other", "mine"):
            records += draw(at_name(name))
    return records


@st.composite
def wishes(draw):
    wanted = {service: [] for service in SERVICES}
    for name in draw(st.sets(names)):
        wanted[draw(st.sampled_from(SERVICES))] += draw(at_name(name))
    return wanted


def owners(records):
    return {claimed_name(each): "fed-2" in each.values[0] for each in records if claimed_name(each)}


def foreign(records):
    """Everything that is not this federation's."""
    claims = owners(records)
    return {each for each in records if claims.get(claimed_name(each) or each.name, True)}


def contents(view):
    everything = [each for name in [*NAMES, "example.com"] for each in view.at(name).values()]
    return {*everything, *(view.claim(name) for name in NAMES if view.claim(name))}


@settings(max_examples=25)
@given(zones(), wishes(), st.integers(1, 8), st.integers(0, 20))
def test_a_crash_after_any_batch_ends_where_no_crash_ends_and_nothing_of_others_changes(zone, wanted, size, survived):
    straight, crashed = ZoneView(zone), ZoneView(zone)
    plan = plan_changes(wanted, straight, TERMS)
    steps = (*plan.steps, *plan.departures)
    straight.take([change for step in steps for change in step.changes])

    for batch in list(batches(steps, size))[:survived]:
        crashed.take([change for step in batch for change in step.changes])
    again = plan_changes(wanted, crashed, TERMS)
    crashed.take([change for step in (*again.steps, *again.departures) for change in step.changes])

    assert contents(crashed) == contents(straight)
    assert foreign(contents(straight)) == foreign(zone)
    settled = plan_changes(wanted, straight, TERMS)
    assert (settled.steps, settled.departures) == (Plan().steps, Plan().departures)


@settings(max_examples=25)
@given(zones(), wishes())
def test_every_wanted_name_is_published_or_told_and_nothing_else_is_there(zone, wanted):
    view = ZoneView(zone)
    plan = plan_changes(wanted, view, TERMS)
    view.take([change for step in (*plan.steps, *plan.departures) for change in step.changes])
    refused = {each.name for each in plan.conflicts}
    asked = {each.name: service for service, records in wanted.items() for each in records}
    mine = view.claims_of("fed-1")
    assert mine.keys() == asked.keys() - refused
    for service, records in wanted.items():
        for each in records:
            if each.name not in refused:
                assert view.at(each.name)[each.type] == plain(each)
                assert mine[each.name].service == service


@settings(max_examples=25)
@given(zones(), wishes(), wishes())
def test_looking_only_at_what_changed_ends_where_looking_at_everything_ends(zone, first, then):
    view = ZoneView(zone)
    plan = plan_changes(first, view, TERMS)
    view.take([change for step in (*plan.steps, *plan.departures) for change in step.changes])
    settled = settled_services(first, {each.service for each in plan.conflicts})
    # Services that want what they wanted keep the very same records.
    later = {service: first[service] if first[service] == records else records for service, records in then.items()}
    whole = plan_changes(later, view, TERMS)
    part = plan_changes(later, view, TERMS, changed_services(later, settled))
    assert {step.name for step in whole.steps} >= {step.name for step in part.steps}
    view.take([change for step in (*part.steps, *part.departures) for change in step.changes])
    rest = plan_changes(later, view, TERMS)
    moved = {each.name for each in part.conflicts} - {each.name for each in whole.conflicts}
    assert {step.name for step in (*rest.steps, *rest.departures)} <= moved
