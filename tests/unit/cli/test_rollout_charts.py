"""Where `hanse rollout render` finds charts of file:/// addresses."""

import pytest
import yaml
from click.testing import CliRunner

from hanse.cli.rollout_render import charts_beside, command
from tests.unit.cli.rollout_cases import application


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HANSE_DATA_DIR", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


def where(data_dir=None, kubeconfig=None):
    return {"data_dir": data_dir, "kubeconfig": kubeconfig, "context": ""}


def started(folder):
    (folder / "charts").mkdir(parents=True)
    (folder / "kubeconfig").touch()
    (folder / "other").touch()
    return folder


def test_charts_are_those_of_the_federation_that_is_meant(tmp_path, monkeypatch):
    home, named = started(tmp_path / ".hanse"), started(tmp_path / "named")

    assert charts_beside(where()) == home / "charts"
    assert charts_beside(where(data_dir=named)) == named / "charts"
    assert charts_beside(where(kubeconfig=named / "kubeconfig")) == named / "charts"
    assert charts_beside(where(kubeconfig=named / "other")) is None
    monkeypatch.setenv("KUBECONFIG", str(named / "kubeconfig"))
    assert charts_beside(where()) == named / "charts"
    monkeypatch.setenv("HANSE_DATA_DIR", str(home))
    assert charts_beside(where()) == home / "charts"
    assert charts_beside(where(data_dir=tmp_path / "nowhere")) is None


def test_without_a_folder_of_charts_it_is_asked_for(tmp_path):
    written = application()
    written["spec"]["template"]["chart"]["repoUrl"] = "file:///stable"
    (tmp_path / "application.yaml").write_text(yaml.safe_dump(written))

    done = CliRunner().invoke(command, ["-f", str(tmp_path / "application.yaml")])

    assert done.exit_code == 1
    assert "give --charts FOLDER, where the control plane has it" in done.output
