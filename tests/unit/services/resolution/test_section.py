"""Hanse's part of a Corefile comes and goes, and the rest stays as it was."""

import pytest

from hanse.services.resolution.section import with_section, without_section

THEIRS = ".:53 {\n    forward . /etc/resolv.conf\n}\n"


def test_a_part_is_put_at_the_end_and_taken_out_again():
    written = with_section(THEIRS, "a:53 {\n}\n")

    assert written.startswith(THEIRS)
    assert "a:53 {\n}\n# hanse: end\n" in written
    assert without_section(written) == THEIRS


def test_a_later_part_takes_the_place_of_an_earlier_one():
    assert with_section(with_section(THEIRS, "a"), "b") == with_section(THEIRS, "b")


def test_what_follows_the_part_stays():
    written = with_section(THEIRS, "a") + "other:53 {\n}\n"

    assert without_section(written) == THEIRS + "other:53 {\n}\n"


def test_an_empty_corefile_may_have_a_part():
    assert without_section(with_section("", "a")) == ""


def test_a_part_without_an_end_is_not_guessed_at():
    with pytest.raises(ValueError, match="is missing"):
        without_section(with_section(THEIRS, "a").replace("# hanse: end", ""))
