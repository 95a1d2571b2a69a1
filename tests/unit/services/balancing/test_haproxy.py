"""HAProxy's configuration and commands, as text: what it shall do, and how it gets there without being replaced."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.services.balancing.haproxy.commands import (
    commands_between,
    parse_facts,
    parse_servers,
    parse_statistics,
    same_servers,
)
from hanse.services.balancing.haproxy.configuration import Terms, render, structure
from hanse.services.balancing.haproxy.process import batches
from hanse.services.balancing.haproxy.slots import Slot, seat
from hanse.services.balancing.wishes import Mode
from tests.unit.services.balancing.builders import line, target

SOCKET = Path("/run/b/a.sock")
STATE = """1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight ...
3 shop.web.80 1 s1 192.0.2.1 2 0 256 256 1 8 2 0 6 0 0 0 - 80 - 0 0 - - 0
3 shop.web.80 2 s2 192.0.2.2 2 4 0 0 1 8 2 0 6 0 0 0 - 80 - 0 0 - - 0
3 shop.web.80 3 s3 192.0.2.3 0 5 7 0 1 8 2 0 6 0 0 0 - 80 - 0 0 - - 0
3 shop.web.80 10 s10 0.0.0.0 0 5 0 0 0 1 0 0 14 0 0 0 - 1 - 0 0 - - 0
"""


def servers(text):
    return [each.strip() for each in text.splitlines() if each.strip().startswith("server ")]


def test_the_configuration_holds_weights_and_drained_servers():
    text = render([seat(line(target("a"), target("b", 0)))], Terms(), SOCKET)

    assert servers(text)[:3] == [
        "server s1 192.0.2.1:80 weight 256",
        "server s2 192.0.2.2:80 weight 0",
        "server s3 0.0.0.0:1 weight 0 disabled",
    ]
    assert "bind 127.0.0.1:8080\n" in text
    assert "balance roundrobin" in text


def test_lines_of_one_port_share_an_entrance_and_are_told_apart_by_host():
    first, second = line(mode=Mode.HTTP, hosts=("a.example", "b.example")), line(name="rest", mode=Mode.HTTP)
    text = render([seat(second), seat(first)], Terms(addresses=("192.0.2.9", "2001:db8::9")), SOCKET)

    assert text.count("frontend ") == 1
    assert "bind 192.0.2.9:8080\n  bind 2001:db8::9:8080\n" in text
    assert "use_backend shop.web.80 if { req.hdr(host),field(1,:),lower -m str a.example b.example }" in text
    assert "default_backend shop.rest.80" in text


def test_affinity_is_by_the_clients_address():
    assert "balance source" in render([seat(line(sticky=True))], Terms(), SOCKET)


def test_only_entrances_and_the_number_of_places_are_structure():
    plain = structure([seat(line(target("a")))], Terms())
    alike = [line(target("b", 0)), line(target("a", 7), target("b"), target("c"))]
    other = [
        line(listen=8081),
        line(mode=Mode.HTTP),
        line(sticky=True),
        line(idle_seconds=1),
        line(name="other"),
        line(*map(target, "abcde")),
    ]

    assert {structure([seat(each)], Terms()) for each in alike} == {plain}
    assert len({plain, *(structure([seat(each)], Terms()) for each in other)}) == len(other) + 1
    assert structure([seat(line())], Terms(addresses=("192.0.2.9",))) != plain


def test_a_cluster_keeps_its_place_and_finds_it_again():
    first = seat(line(target("a"), target("b"))).slots
    without = seat(line(target("b")), first).slots
    joined = seat(line(target("b"), target("c")), without).slots
    again = seat(line(target("a"), target("b"), target("c")), joined).slots

    assert [slot.address for slot in again[:3]] == ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    assert not without[0].open
    assert joined[2].open
    assert not joined[0].open
    assert len(again) == len(first)


def test_places_that_were_left_are_used_once_there_are_no_others():
    slots = seat(line(*(target(name) for name in "abcd"))).slots
    after = seat(line(*(target(name) for name in "efghijkl")), slots).slots

    assert len(after) == len(slots) == 8
    assert {slot.address for slot in after} == {target(name).address for name in "efghijkl"}


def test_a_backend_that_outgrows_its_places_gets_more():
    slots = seat(line(target("a"))).slots

    assert len(seat(line(*(target(name) for name in "abcdefghij")), slots).slots) == 20


def test_servers_are_read_from_the_running_process_in_the_order_of_their_places():
    assert parse_servers(STATE) == {
        "shop.web.80": (
            Slot("192.0.2.1", 80, 256, open=True),
            Slot("192.0.2.2", 80, 0, open=True),
            Slot("192.0.2.3", 80),
            Slot(),
        )
    }
    assert parse_facts("Name: HAProxy\nPid: 12\ndescription: a:b\n")["description"] == "a:b"
    assert parse_statistics("# pxname,svname,scur,\nshop.web.80,s1,3,\n")[0]["scur"] == "3"


def test_a_change_is_told_by_commands_and_who_begins_comes_before_who_ends():
    before = seat(line(target("a"), target("b")))
    after = seat(line(target("b", 0), target("c", 9)), before.slots)

    assert commands_between({"shop.web.80": before.slots}, [after]) == [
        "set server shop.web.80/s3 addr 192.0.2.3 port 80",
        "set server shop.web.80/s3 weight 9",
        "set server shop.web.80/s3 state ready",
        "set server shop.web.80/s1 state maint",
        "set server shop.web.80/s2 weight 0",
    ]


def test_a_place_that_somebody_else_has_is_closed_before_it_is_moved():
    before = (Slot("192.0.2.9", 80, 5, open=True), *seat(line()).slots[1:])

    assert commands_between({"shop.web.80": before}, [seat(line())]) == [
        "set server shop.web.80/s1 state maint",
        "set server shop.web.80/s1 addr 192.0.2.1 port 80",
        "set server shop.web.80/s1 weight 256",
        "set server shop.web.80/s1 state ready",
    ]


CLUSTERS = st.lists(st.sampled_from("abcdefghijkl"), unique=True, max_size=8)
TARGETS = CLUSTERS.flatmap(
    lambda names: st.tuples(*(st.builds(target, st.just(name), st.integers(0, 256)) for name in names))
)


@settings(max_examples=25)
@given(st.lists(TARGETS, min_size=1, max_size=6))
def test_whatever_happens_every_target_has_one_place_and_what_is_there_already_needs_no_command(history):
    slots = ()
    for targets in history:
        wanted = replace(line(), targets=targets)
        seated = seat(wanted, slots)
        slots = seated.slots

        assert sorted((slot.address, slot.weight) for slot in slots if slot.open) == sorted(
            (each.address, each.weight) for each in targets
        )
        assert seat(wanted, slots) == seated
        assert commands_between({"shop.web.80": slots}, [seated]) == []
        assert same_servers({"shop.web.80": slots}, [seated])


def test_commands_are_told_in_lines_that_the_process_can_read():
    commands = [f"set server shop.web.80/s{number} weight 1" for number in range(300)]
    lines = list(batches(commands))

    assert [command for line in lines for command in line.split("; ")] == commands
    assert len(lines) > 1
    assert max(map(len, lines)) < 5000
    assert list(batches([])) == []
