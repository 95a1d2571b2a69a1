"""`hanse checker` refuses a name that could be nobody's, before it connects anywhere."""

import pytest
from click.testing import CliRunner

from hanse.cli.main import main


@pytest.mark.parametrize("name", ["Office", "1st", "a.b", "x" * 64, ""])
def test_a_checker_is_called_as_a_cluster_may_be(name, tmp_path):
    done = CliRunner().invoke(main, ["checker", "--kubeconfig", str(tmp_path / "none"), "--cluster", name])

    assert done.exit_code == 2
    assert "--cluster: " in done.output
    assert "must be lower-case letters, digits and '-', beginning with a letter" in done.output
