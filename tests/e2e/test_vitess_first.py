"""The first Vitess operator in a cluster of `hanse up`, by the guide's own commands.

It takes most of a minute, which the quick tests have not.
"""

from pathlib import Path

import pytest
import yaml

from tests.behaviour.vitess_first import (
    Shell,
    one_edit_rolls_through_all_of_it,
    the_dashboard_shows_a_page,
    the_guides_commands_bring_a_cluster_up,
)
from tests.e2e.federation import EmbeddedFederation, embedded_federation
from tests.kubernetes.real.components import find_kubectl

pytestmark = pytest.mark.kubernetes


def shell_in(federation: EmbeddedFederation, member: str, folder: Path) -> Shell:
    """Return a terminal whose kubectl speaks with one cluster of the federation."""
    kubectl = find_kubectl()
    assert kubectl is not None
    config = yaml.safe_load((federation.data_dir / "kubeconfig").read_text())
    chosen = folder / "kubeconfig"
    chosen.write_text(yaml.safe_dump({**config, "current-context": member}))
    return Shell(Path(kubectl), chosen, folder)


def test_the_guides_commands_run_in_a_cluster_of_an_embedded_federation(tmp_path):
    with embedded_federation(tmp_path) as federation:
        shell = shell_in(federation, "eu-west", tmp_path)
        the_guides_commands_bring_a_cluster_up(shell)
        the_dashboard_shows_a_page(shell)
        one_edit_rolls_through_all_of_it(shell)
