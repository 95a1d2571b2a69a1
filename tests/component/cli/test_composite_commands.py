"""`hanse composite init` and `test`: what they write, and what they say of hooks, with no cluster at all."""

import json
import subprocess
import sys

import pytest
import yaml
from click.testing import CliRunner

from hanse.cli.main import main


def say(*words):
    done = CliRunner().invoke(main, ["composite", *map(str, words)])
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def scaffold(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scaffold") / "web-app"
    code, told = say("init", "web-app", "--folder", folder)
    assert code == 0, told
    return folder


def test_what_init_writes_works_and_its_own_test_passes(scaffold):
    code, told = say("test", "-f", scaffold, "--parent", scaffold / "parent.yaml", "-o", "json")
    run_all = "import test_hook as t; print(len([f() for name, f in vars(t).items() if name.startswith('test_')]))"
    own = subprocess.run(
        [sys.executable, "-c", run_all], cwd=scaffold, capture_output=True, text=True, timeout=60, check=False
    )

    (item,) = json.loads(told)["items"]
    assert code == 0
    assert [(each["object"], each["effect"]) for each in item["changes"]] == [
        ("Deployment default/example", "created"),
        ("Service default/example", "created"),
        ("status", "written"),
    ]
    assert item["answer"]["status"] == {"ready": 0}
    assert (own.stdout, own.stderr) == ("2\n", "")


def test_the_jsonnet_that_init_writes_answers_as_the_python_does(scaffold, tmp_path):
    code, told = say("init", "web-app", "--language", "jsonnet", "--folder", tmp_path / "made")
    answers = [
        say("test", "-f", folder, "--parent", folder / "parent.yaml") for folder in (scaffold, tmp_path / "made")
    ]

    assert code == 0, told
    assert "2 created, the status written." in answers[0][1]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Web"], "lower-case letters"),
        (["w" * 44], "at most 43"),
        (["web", "--kind", "web"], "--kind: 'web' must be"),
        (["web", "--group", "com"], "--group: 'com' must be a DNS domain"),
    ],
)
def test_names_that_nothing_can_have_are_refused(tmp_path, words, said):
    code, told = say("init", *words, "--folder", tmp_path / "new")

    assert (code, (tmp_path / "new").exists()) == (2, False)
    assert said in told


def test_init_overwrites_nothing(scaffold):
    before = (scaffold / "hook.py").read_text()

    code, told = say("init", "other", "--folder", scaffold)

    assert code == 2
    assert "has crd.yaml, controller.yaml" in told
    assert (scaffold / "hook.py").read_text() == before


def test_a_hook_that_fails_or_is_not_settled_is_an_exit_code(scaffold, tmp_path):
    broken = tmp_path / "broken.py"
    controller = yaml.safe_load((scaffold / "controller.yaml").read_text())
    del controller["spec"]["hooks"]
    broken.write_text(f"CONTROLLER = {controller!r}\n\ndef sync(request):\n    return request['nothing']\n")
    parent = scaffold / "parent.yaml"

    failed = say("test", "-f", broken, "--parent", parent)
    unsettled = say("test", "-f", scaffold, "--parent", parent, "--settled")
    stranger = say("test", "-f", scaffold, "--parent", scaffold / "crd.yaml")

    assert failed[0] == 1
    assert "KeyError: 'nothing'" in failed[1]
    assert unsettled[0] == 1
    assert "error: the hook would change something" in unsettled[1]
    assert stranger[0] == 2
    assert "and the controller is for WebApp of example.com/v1" in stranger[1]
