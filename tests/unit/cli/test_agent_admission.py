"""`hanse agent admission` with words that cannot be meant."""

import pytest
from click.testing import CliRunner

from hanse.cli.agent_admission import command


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--cluster", ""], "error: --cluster: it must not be empty"),
        (["--cluster", " "], "error: --cluster: it must not be empty"),
        (["--cluster", "east", "--port", "70000"], "70000 is not in the range"),
        ([], "Missing option '--cluster'"),
    ],
)
def test_words_that_cannot_be_meant_are_one_sentence(words, told):
    done = CliRunner().invoke(command, words)

    assert (done.exit_code, told in done.output) == (2, True)
