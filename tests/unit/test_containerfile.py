"""The image that the Containerfile describes: what it copies is there, and what pods start in it exists."""

import importlib.metadata
import importlib.util
import json
import tomllib
from pathlib import Path

from hanse.vitess.operator.shaping import Settings
from hanse.vitess.operator.storages import subcontroller_pod
from tests.unit.vitess.operator.scenes import child, cluster, live
from tests.vitess_specs import vitess_cluster

ROOT = Path(__file__).parents[2]


def steps(verb):
    lines = (ROOT / "Containerfile").read_text().splitlines()
    return [line.split(" ", 1)[1] for line in lines if line.startswith(f"{verb} ")]


def test_everything_that_is_copied_is_in_the_checkout():
    copied = [source for step in steps("COPY") for source in step.split()[:-1]]
    assert [source for source in copied if not (ROOT / source).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {project["readme"], *project["license-files"], "pyproject.toml", "src"} <= set(copied)


def test_only_what_is_locked_by_its_hash_is_installed():
    first, second = steps("RUN")
    assert "--require-hashes -r requirements.lock" in first
    assert "--no-deps --no-build-isolation" in second
    locked = (ROOT / "requirements.lock").read_text()
    assert "\nhatchling==" in locked, "what builds the package is pinned, too"
    assert "--hash=sha256:" in locked


def test_the_python_of_the_image_is_one_that_hanse_runs_on_and_no_registry_is_named():
    (image,) = steps("FROM")
    name, _, tag = image.partition(":")
    assert name == "python"
    assert tuple(map(int, tag.split("-")[0].split("."))) >= (3, 11)


def test_what_is_started_in_the_image_exists():
    (entry,) = json.loads(steps("ENTRYPOINT")[0])
    scripts = importlib.metadata.entry_points(group="console_scripts", name=entry)
    assert [each.value for each in scripts] == ["hanse.cli.main:main"]
    storage = child(
        cluster(vitess_cluster(backup={"locations": [{"volume": {"emptyDir": {}}}]})), "VitessBackupStorage"
    )
    pod = subcontroller_pod(live(storage), Settings(backup_image="registry.example/hanse:1"))
    python, dash_m, module = pod["spec"]["containers"][0]["command"]
    assert (python, dash_m) == ("python", "-m")
    assert importlib.util.find_spec(module) is not None
