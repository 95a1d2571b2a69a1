"""Key ranges: how a keyspace is divided into shards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.vitess.key_ranges import (
    KeyRange,
    coverage_problem,
    equal_ranges,
    parse_shard_name,
    parts_problem,
    range_problem,
    sorted_ranges,
)


def names(ranges):
    return [str(each) for each in ranges]


def ranges(text):
    return [KeyRange(*name.split("-")) for name in text.split()]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (1, "-"),
        (2, "-80 80-"),
        (3, "-55 55-aa aa-"),
        (5, "-33 33-66 66-99 99-cc cc-"),
        (6, "-2a 2a-55 55-80 80-aa aa-d5 d5-"),
    ],
)
def test_equal_parts(parts, expected):
    assert names(equal_ranges(parts)) == expected.split()


@pytest.mark.parametrize(
    ("parts", "width", "first", "last"),
    [(7, 4, "-2492", "db6d-"), (8, 4, "-2000", "e000-"), (512, 0, "-0080", "ff80-")],
)
def test_bounds_may_have_four_digits(parts, width, first, last):
    found = names(equal_ranges(parts, width))
    assert (len(found), found[0], found[-1]) == (parts, first, last)


def test_a_range_without_bounds_has_a_name_that_objects_can_carry():
    assert [each.safe_name for each in (KeyRange(), KeyRange("", "80"), KeyRange("80"))] == ["x-x", "x-80", "80-x"]


@pytest.mark.parametrize(
    ("parts", "width", "problem"),
    [
        (0, 0, "parts must be from 1 to 65536"),
        (65537, 0, "parts must be from 1 to 65536"),
        (300, 2, "room for 256 parts"),
        (2, 3, "even number of digits"),
        (2, 2**31 - 2, "at most 16 digits"),
    ],
)
def test_what_cannot_be_divided_is_refused_with_a_sentence(parts, width, problem):
    assert problem in parts_problem(parts, width)
    with pytest.raises(ValueError, match=problem):
        equal_ranges(parts, width)


@pytest.mark.parametrize("bound", ["8", "8G", "AB"])
def test_a_bound_is_an_even_number_of_lower_case_hex_digits(bound):
    assert "even number of lower-case hex digits" in range_problem(KeyRange(bound))
    assert "even number of lower-case hex digits" in coverage_problem([KeyRange("", bound), KeyRange(bound)])


@pytest.mark.parametrize(
    ("custom", "problem"),
    [
        ("-40 80-", "no shard has the keys from 40 to 80"),
        ("40-80 80-", "no shard has the keys below 40"),
        ("-40 40-80", "no shard has the keys from 80"),
        ("-80 40-", "overlap"),
        ("- 80-", "overlap"),
        ("-80 -80 80-", "overlap"),
        ("-80 8000-", "write both bounds alike"),
        ("80-40", "must be below"),
        ("", "at least one shard"),
    ],
)
def test_custom_ranges_with_a_gap_or_an_overlap_are_refused(custom, problem):
    assert problem in coverage_problem(ranges(custom))


def test_custom_ranges_may_be_of_any_size_and_in_any_order():
    assert coverage_problem(ranges("80- -10 10-80")) == ""


def test_shards_are_sorted_by_start_then_end_and_no_end_comes_last():
    assert names(sorted_ranges(ranges("80- - 80-90 -80"))) == ["-80", "-", "80-90", "80-"]


@given(st.integers(1, 2000), st.sampled_from([0, 4]))
def test_equal_parts_are_every_key_exactly_once(parts, width):
    assert coverage_problem(equal_ranges(parts, width)) == ""


def test_a_shards_name_is_read_back():
    assert parse_shard_name("-80") == KeyRange("", "80")
    assert parse_shard_name("0") is None
