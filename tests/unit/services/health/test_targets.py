"""What is probed of a Service, and how it is written down and read."""

from hanse.api.federation import HealthSettings
from hanse.kube.manifest import Key
from hanse.services.health.checks import Check
from hanse.services.health.standing import Standing, State
from hanse.services.health.targets import (
    Target,
    assigned_targets,
    read_report,
    report_manifest,
    targets_of,
    told_status,
)
from hanse.services.presence import FederatedService, Presence

WEB = Key("shop", "web")
CHECK = Check("tcp", 80, HealthSettings())


def service(*presences, published=True):
    return FederatedService(WEB, presences=presences, published=published)


def test_every_address_is_probed_also_where_nobody_is_led():
    found = targets_of(
        service(
            Presence("a", ("192.0.2.1", "2001:db8::1")), Presence("b", ("192.0.2.2",), serving=False), Presence("c")
        )
    )

    assert found == (Target(WEB, "a", "192.0.2.1"), Target(WEB, "a", "2001:db8::1"), Target(WEB, "b", "192.0.2.2"))


def test_a_service_without_names_is_not_probed():
    assert targets_of(service(Presence("a", ("192.0.2.1",)), published=False)) == ()


def test_nobody_can_have_a_metadata_service_asked():
    refused = ("169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "::")

    assert targets_of(service(Presence("a", (*refused, "127.10.0.1")))) == (Target(WEB, "a", "127.10.0.1"),)


def test_a_report_tells_what_was_told():
    targets = targets_of(service(Presence("a", ("192.0.2.1",)), Presence("b", ("192.0.2.2", "192.0.2.3"))))
    standings = {
        ("a", "192.0.2.1"): Standing(State.ALIVE),
        ("b", "192.0.2.2"): Standing(State.DEAD, "no answer"),
        ("b", "192.0.2.3"): Standing(against=2),
    }
    report = report_manifest("hanse-system", "host", WEB, CHECK, targets) | {"status": told_status("x7k2p", standings)}
    read = read_report(report)

    assert (read.service, read.checker, read.session) == (WEB, "host", "x7k2p")
    assert assigned_targets(report) == targets
    assert read.standings == {place: standings[place] for place in list(standings)[:2]}
    assert (report["status"]["aliveCount"], report["status"]["deadCount"]) == (1, 1)


def test_what_is_not_asked_about_any_more_does_not_count():
    report = report_manifest("hanse-system", "host", WEB, CHECK, [Target(WEB, "a", "192.0.2.1")])
    told = told_status("x7k2p", {("a", "192.0.2.9"): Standing(State.DEAD), ("b", "192.0.2.1"): Standing(State.ALIVE)})

    assert read_report(report | {"status": told}).standings == {}
