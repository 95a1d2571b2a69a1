"""A lockserver over three clusters: it serves without any one of them, and no two members restart at once."""

from __future__ import annotations

import pytest

from hanse.vitess.federated.quorum import EtcdMember, Quorum, is_serving, quorum_from, quorum_to, restart_obstacle

_QUORUM = Quorum(tuple(EtcdMember(name, f"https://{name}:2380") for name in ("a", "b", "c")), "etcd.example:2379")


@pytest.mark.parametrize(
    ("lost", "serves"), [((), True), (("b",), True), (("b", "c"), False), (("a", "b", "c"), False)]
)
def test_it_serves_while_two_of_three_are_ready(lost: tuple[str, ...], serves: bool):
    assert is_serving(_QUORUM, {name: name not in lost for name in ("a", "b", "c")}) == serves


def test_a_member_may_restart_while_the_two_others_serve():
    assert restart_obstacle(_QUORUM, "a", {"a": True, "b": True, "c": True}) == ""
    assert restart_obstacle(_QUORUM, "a", {"a": False, "b": True, "c": True}) == "", "its own is down already"


@pytest.mark.parametrize(
    ("ready", "words"),
    [
        ({"a": True, "b": False, "c": True}, "the etcd member of b is down"),
        ({"a": True, "b": True, "c": None}, "the etcd member of c has not been heard of"),
        ({"a": True, "b": True}, "the etcd member of c has not been heard of"),
    ],
)
def test_a_second_restart_waits(ready: dict[str, bool | None], words: str):
    assert words in restart_obstacle(_QUORUM, "a", ready)


def test_it_is_read_as_it_is_written():
    assert quorum_from(quorum_to(_QUORUM)) == _QUORUM
    assert quorum_from(None) is None
