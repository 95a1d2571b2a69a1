"""The text form of values: quoting, escapes, and the spellings of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.services.providers.texts import canonical_txt, txt_content, txt_value, within, without_octal


@given(st.binary(max_size=700))
def test_any_content_is_read_as_it_was_written(content):
    value = txt_value(content)
    assert txt_content(value) == content
    assert canonical_txt(value) == value
    assert value.isascii()
    assert value.isprintable()


@pytest.mark.parametrize(
    ("spelt", "canonical"),
    [
        ("hello", '"hello"'),
        ('"a"   "b"', '"a" "b"'),
        ('"a;b"', '"a;b"'),
        (r'"say \"x\" \\ \195\188"', r'"say \"x\" \\ \195\188"'),
        ('"tab\\009"', '"tab\\009"'),
        ("", '""'),
    ],
)
def test_other_spellings_become_the_one(spelt, canonical):
    assert canonical_txt(spelt) == canonical


def test_a_wildcard_in_octal_is_read():
    assert without_octal("\\052.example.com.") == "*.example.com."


@pytest.mark.parametrize(
    ("name", "inside"), [("example.com", True), ("a.example.com", True), ("aexample.com", False), ("com", False)]
)
def test_a_zone_holds_itself_and_what_is_below(name, inside):
    assert within(name, "example.com") is inside
