"""Quantities: values, canonical text, the units of scheduling."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.kube.quantities import (
    canonical_quantity,
    canonical_resource,
    format_quantity,
    is_whole_number,
    millicores,
    parse_quantity,
    resource_amount,
    whole_units,
)


@pytest.mark.parametrize(
    ("text", "value", "canonical"),
    [
        ("0", "0", "0"),
        ("1", "1", "1"),
        ("1000m", "1", "1"),
        ("0.1", "0.1", "100m"),
        ("1500m", "1.5", "1500m"),
        ("1024Mi", str(2**30), "1Gi"),
        ("1.5Gi", str(3 * 2**29), "1536Mi"),
        ("0.5Gi", str(2**29), "512Mi"),
        ("1.4Ki", "1433.6", "1433600m"),
        ("2000000000", "2000000000", "2G"),
        ("2e3", "2000", "2e3"),
        ("12E", "12000000000000000000", "12E"),
        ("5e-3", "0.005", "5e-3"),
        ("100n", "0.0000001", "100n"),
        ("0.1n", "0.000000001", "1n"),
        ("-3Ki", "-3072", "-3Ki"),
        ("100Ei", str(2**63 - 1), str(2**63 - 1)),
    ],
)
def test_a_quantity_has_one_value_and_one_canonical_text(text, value, canonical):
    assert (Decimal(value), canonical) == (parse_quantity(text), canonical_quantity(text))


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1.2.3", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("one", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1KiB", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1K", "unable to parse quantity's suffix"),
        ("1kMi", "unable to parse quantity's suffix"),
    ],
)
def test_what_is_no_quantity_is_refused_with_the_servers_sentence(text, refusal):
    with pytest.raises(ValueError, match=r".") as refused:
        parse_quantity(text)
    assert refusal == str(refused.value)


def test_resource_lists_know_nothing_finer_than_a_thousandth():
    assert [canonical_resource(text) for text in ("0.0001", "1.5", "65536Ki")] == ["1m", "1500m", "64Mi"]


def test_scheduling_counts_cpu_in_millicores_and_the_rest_whole_always_rounding_up():
    assert [millicores("1.5"), millicores("100u"), millicores("250m")] == [1500, 1, 250]
    assert [whole_units("1Mi"), whole_units("1500m"), whole_units(110)] == [2**20, 2, 110]
    assert [resource_amount("cpu", "0.5"), resource_amount("pods", "3")] == [500, 3]


@given(st.integers(-(10**15), 10**15), st.integers(-9, 6), st.sampled_from(["decimal", "binary", "exponent"]))
def test_formatting_loses_nothing(digits, power, notation):
    value = Decimal(digits).scaleb(power)
    assert value == parse_quantity(format_quantity(value, notation))


@pytest.mark.parametrize(
    ("text", "whole"),
    [("1", True), ("1.5", False), ("9" * 400, True), ("1e100", True), ("1" * 60 + ".5", False), ("1n", False)],
)
def test_a_quantity_of_any_length_is_whole_or_not(text, whole):
    assert is_whole_number(parse_quantity(text)) is whole
