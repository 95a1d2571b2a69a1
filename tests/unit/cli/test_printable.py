"""Words of clusters as a terminal shows them."""

import pytest

from hanse.cli.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "0/3 nodes are available: zu wenig Speicher für größere, ☃",
            "0/3 nodes are available: zu wenig Speicher für größere, ☃",
        ),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b2J", "\\x9b2J"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\u202eright to left", "\\u202eright to left"),
        ("line\u2028separator", "line\\u2028separator"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text, shown):
    assert printable(text) == shown
