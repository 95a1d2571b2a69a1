"""Positions of MySQL's replication as sets of transactions."""

import pytest

from hanse.api.vitess_records.positions import Position

A = "00000000-0000-0000-0000-00000000000a"
B = "00000000-0000-0000-0000-00000000000b"


@pytest.mark.parametrize(
    ("text", "written", "count"),
    [
        ("", "MySQL56/", 0),
        (f"MySQL56/{A}:1-5", f"MySQL56/{A}:1-5", 5),
        (f"{A.upper()}:1", f"MySQL56/{A}:1", 1),
        (f"MySQL56/{B}:1-3, {A}:1-5:7:8-9", f"MySQL56/{A}:1-5:7-9,{B}:1-3", 11),
        (f"{A}:4-6,{A}:1-5", f"MySQL56/{A}:1-6", 6),
    ],
)
def test_a_position_is_read_and_written(text, written, count):
    position = Position.parse(text)
    assert (str(position), position.count) == (written, count)


@pytest.mark.parametrize("text", ["MariaDB/0-1-5", f"MySQL56/{A}", f"{A}:x", f"{A}:1-"])
def test_what_cannot_be_compared_is_refused(text):
    with pytest.raises(ValueError, match="position"):
        Position.parse(text)


@pytest.mark.parametrize(
    ("one", "other", "at_least"),
    [
        (f"{A}:1-5", f"{A}:1-5", True),
        (f"{A}:1-5", f"{A}:2-3", True),
        (f"{A}:1-5", f"{A}:4-6", False),
        (f"{A}:1-5,{B}:1", f"{A}:1-5", True),
        (f"{A}:1-5", f"{A}:1-5,{B}:1", False),
        (f"{A}:1-5", "", True),
    ],
)
def test_one_position_is_at_least_another_if_it_has_all_of_it(one, other, at_least):
    assert Position.parse(one).at_least(Position.parse(other)) is at_least


def test_a_write_is_the_next_number_of_its_server():
    position = Position().after_write(A).after_write(A).after_write(B)
    assert str(position) == f"MySQL56/{A}:1-2,{B}:1"
