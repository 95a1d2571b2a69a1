"""What is read out of annotations that anybody may write."""

import pytest

from hanse.rollouts.shelf import whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("7", 7), ("", None), ("-1", None), ("1.5", None), ("x", None), ("٣", None), ("9" * 18, 10**18 - 1)],
)
def test_a_count_is_a_number_of_digits(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_a_number_that_python_itself_would_not_read_is_none() -> None:
    assert whole_number("9" * 5000) is None
