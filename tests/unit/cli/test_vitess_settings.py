"""What `hanse controller` is told of the pods of VitessClusters."""

import click
import pytest
from click.testing import CliRunner

from hanse.api.planetscale.values import Extras
from hanse.cli.controller import command as controller
from hanse.cli.failures import Misuse
from hanse.cli.vitess_settings import read_vitess_settings, vitess_options
from hanse.vitess.operator.lockservers import sync_lockserver
from hanse.vitess.operator.shaping import Settings, pod_spec, surroundings_of
from hanse.vitess.operator.verdicts import Observed
from tests.unit.vitess.operator.scenes import SETTINGS


def given(*argv):
    """Return the settings that a command line gives."""
    read = []

    @click.command()
    @vitess_options
    def command(vitess_priority_class, vitess_run_as_user, vitess_fs_group, vitess_backup_image):
        read.append(
            read_vitess_settings(vitess_priority_class, vitess_run_as_user, vitess_fs_group, vitess_backup_image)
        )

    result = CliRunner().invoke(command, argv, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return read[0]


@pytest.mark.parametrize(
    ("argv", "settings"),
    [
        ([], Settings("vitess", 999, 999, "")),
        (["--vitess-priority-class=databases"], Settings(priority_class="databases")),
        (["--vitess-priority-class="], Settings(priority_class="")),
        (["--vitess-run-as-user=1000", "--vitess-fs-group=2000"], Settings(run_as_user=1000, fs_group=2000)),
        (["--vitess-run-as-user=-1", "--vitess-fs-group=-1"], Settings(run_as_user=None, fs_group=None)),
        (["--vitess-run-as-user=0"], Settings(run_as_user=0)),
        (["--vitess-backup-image=registry.example/hanse:1"], Settings(backup_image="registry.example/hanse:1")),
    ],
)
def test_what_is_given_is_how_the_operator_is_set_up(argv, settings):
    assert given(*argv) == settings


@pytest.mark.parametrize(
    ("argv", "error", "said"),
    [
        (["--vitess-priority-class=Data_Bases"], Misuse, "--vitess-priority-class: 'Data_Bases' is not the name of"),
        (
            ["--vitess-backup-image=two words"],
            Misuse,
            "--vitess-backup-image: 'two words' is no image: give one such as",
        ),
        (["--vitess-run-as-user=-2"], click.BadParameter, "-2 is not in the range"),
        (["--vitess-fs-group=root"], click.BadParameter, "'root' is not a valid integer range"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_flag(argv, error, said):
    with pytest.raises(error) as refusal:
        given(*argv)
    assert said in str(refusal.value)


def test_the_command_that_runs_operators_tells_of_each_flag():
    told = CliRunner().invoke(controller, ["--help"]).output
    for flag in ("--vitess-priority-class", "--vitess-run-as-user", "--vitess-fs-group", "--vitess-backup-image"):
        assert flag in told


@pytest.mark.parametrize(
    ("settings", "context", "priority"),
    [
        (SETTINGS, {"fsGroup": 999, "runAsUser": 999}, "vitess"),
        (Settings("databases", 1000, None), {"runAsUser": 1000}, "databases"),
        (Settings("", None, None), None, None),
    ],
)
def test_pods_of_every_component_run_as_was_said(settings, context, priority):
    around = surroundings_of("example", "default", {}, settings)
    parent = {"metadata": {"name": "example-etcd", "namespace": "default", "uid": "1"}, "spec": {}}
    etcd = next(each for each in sync_lockserver(parent, Observed(), settings).children if each["kind"] == "Pod")
    for spec in (pod_spec(around, [], [], Extras()), etcd["spec"]):
        assert spec.get("securityContext") == context
        assert spec.get("priorityClassName") == priority
