"""`hanse rollout` typed against a host over HTTPS; no control plane runs, so that what is written stays."""

import json
from pathlib import Path

import pytest
import yaml

from hanse.api.names import OWNER_ANNOTATION
from hanse.api.pieces import PIECE_CRD, PIECES, piece_spec
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CAPACITY_TARGETS,
    INSTALLATION_TARGETS,
    OVERRIDE_ANNOTATION,
    PAUSED_ANNOTATION,
    RELEASES,
    TRAFFIC_TARGETS,
)
from hanse.cli.rollout_packing import pack
from hanse.kube.client import WriteOptions
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import annotations_of, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, PODS
from tests.component.served_federation import ServedFederation
from tests.unit.cli.rollout_cases import application, condition, environment, release, targets

KINDS = {kind.kind: kind for kind in (APPLICATIONS, RELEASES, INSTALLATION_TARGETS, CAPACITY_TARGETS, TRAFFIC_TARGETS)}
EXAMPLES = Path(__file__).parents[3] / "examples/rollouts"
FAILED_CHECK = {"step": 0, "failure": {"message": "check smoke failed", "remedy": "Pause", "carriedOut": True}}


class Stage:
    """A host with Shipper's kinds and one cluster, in which each test has an application of its own."""

    def __init__(self, folder):
        self.served = ServedFederation(folder, "eu")
        self.served.join("eu", **{"topology.kubernetes.io/region": "local"})
        self.served.ask(self._prepare())

    async def _prepare(self):
        host = self.served.host
        for definition in (*SHIPPER_CRDS, PIECE_CRD):
            try:
                await host.create(CRDS, definition)
            except AlreadyExists:
                continue
        for client in (host, self.served.clients["eu"]):
            for name in ("shop", "vault", "shipper-system"):
                await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def rollout(self, *arguments):
        return self.served.say("rollout", *arguments)

    def store(self, *objects):
        for obj in objects:
            self.served.ask(self._store(obj))

    async def _store(self, obj):
        kind, key = KINDS[obj["kind"]], (obj["metadata"]["name"], obj["metadata"]["namespace"])
        await self.served.host.create(kind, {name: value for name, value in obj.items() if name != "status"})
        if "status" in obj:
            await self.served.host.patch(kind, key[0], {"status": obj["status"]}, key[1], subresource="status")

    def get(self, kind, name):
        return self.served.ask(self.served.host.find(kind, name, "shop"))

    def transition(self, app, **new):
        """Store an application on its way from a complete release to a new one."""
        old = release(app, step=1, achieved=1, complete=True)
        made = release(app, 1, version="0.0.2", **new)
        self.store(application(app, "0.0.2"), old, made)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = Stage(tmp_path_factory.mktemp("rollout"))
    yield opened
    opened.served.close()


def test_one_table_shows_all_applications_and_a_tree_one_of_them(stage):
    old, new = release("tree", step=1, achieved=1, complete=True), release("tree", 1, version="0.0.2", achieved=0)
    stage.store(application("tree", "0.0.2"), old, new, *targets(old), *targets(new, percent=1, available=1, weight=0))
    labels = {"shipper-app": "tree", "shipper-release": "tree-1"}
    pod = {"metadata": {"name": "tree-1-x", "namespace": "shop", "labels": labels}, "apiVersion": "v1", "kind": "Pod"}
    containers = {"containers": [{"name": "app", "image": "nginx"}]}
    stage.served.ask(stage.served.clients["eu"].create(PODS, {**pod, "spec": containers}))

    code, listed = stage.rollout("get", "-n", "shop", "-o", "json")
    shown = next(each for each in json.loads(listed)["items"] if each["application"] == "tree")
    assert (code, shown["contender"], shown["incumbent"], shown["state"]) == (0, "tree-1", "tree-0", "waiting")

    code, tree = stage.rollout("get", "tree")
    assert code == 0
    assert [line.split()[:3] for line in tree.splitlines()[1:]] == [
        ["Application/tree", "-", "-"],
        ["├─", "Release/tree-1", "contender"],
        ["│", "└─", "cluster"],
        ["│", "└─", "Pod/tree-1-x"],
        ["└─", "Release/tree-0", "incumbent"],
        ["└─", "cluster", "eu"],
    ]


def test_an_unknown_application_is_answered_with_the_names_that_come_near(stage):
    stage.transition("superserver")

    assert stage.rollout("get", "super-server") == (
        1,
        "error: there is no application super-server in any namespace of the federation; did you mean superserver?\n",
    )


def test_a_namespace_without_applications_is_named(stage):
    said = "there is no application in namespace nowhere; `kubectl apply` one (examples/rollouts)\n"
    assert stage.rollout("get", "-n", "nowhere") == (0, said)


def test_a_step_is_promoted_once_it_is_achieved(stage):
    stage.transition("going")
    code, said = stage.rollout("promote", "going")
    assert (code, "has yet to achieve step 1 of 2 (staging)" in said) == (1, True)

    achieved = {"status": {"achievedStep": {"step": 0, "name": "staging"}}}
    stage.served.ask(stage.served.host.patch(RELEASES, "going-1", achieved, "shop", subresource="status"))

    assert stage.rollout("promote", "going") == (0, "release going-1 goes to step 2 of 2 (full on)\n")
    assert stage.get(RELEASES, "going-1")["spec"]["targetStep"] == 1
    code, said = stage.rollout("promote", "going", "--to", "0", "--wait", "--timeout", "200ms")
    assert code == 0, said
    assert stage.get(RELEASES, "going-1")["spec"]["targetStep"] == 0


@pytest.mark.parametrize(
    ("app", "new", "options", "code", "says"),
    [
        ("achieved", {"achieved": 0}, (), 0, "release achieved-1 has achieved step 1 of 2 (staging)"),
        ("slow", {}, ("--timeout", "200ms"), 4, "did not get there within 0.2 s: step 1 of 2 (staging) is yet"),
        ("checked", {"progress": FAILED_CHECK}, (), 3, "error: check smoke failed; `hanse rollout retry` tries again"),
        ("typo", {"achieved": 0}, ("--step", "9"), 2, "release typo-1 has no step '9'"),
    ],
)
def test_waiting_ends_with_a_code_that_a_pipeline_can_go_by(stage, app, new, options, code, says):
    stage.transition(app, **new)

    ended, said = stage.rollout("status", app, *options)

    assert (ended, says in said) == (code, True), said


def test_a_rollout_is_paused_and_goes_on(stage):
    stage.transition("frozen")

    assert stage.rollout("pause", "frozen")[0] == 0
    assert annotations_of(stage.get(RELEASES, "frozen-1"))[PAUSED_ANNOTATION] == "true"
    assert stage.rollout("promote", "frozen", "--full")[1].startswith("error: release frozen-1 is paused")
    assert stage.rollout("resume", "frozen") == (0, "release frozen-1 goes on\n")
    assert PAUSED_ANNOTATION not in annotations_of(stage.get(RELEASES, "frozen-1"))


def test_what_a_check_stopped_is_tried_again_with_an_empty_memory(stage):
    stage.transition("stopped", progress=FAILED_CHECK, annotations={PAUSED_ANNOTATION: "true"})

    assert stage.rollout("retry", "stopped") == (0, "release stopped-1 tries its step again\n")
    found = stage.get(RELEASES, "stopped-1")
    assert PAUSED_ANNOTATION not in annotations_of(found)
    assert "progress" not in found["status"]
    assert stage.rollout("retry", "stopped")[1].startswith("error: nothing of application stopped failed")


def test_a_source_that_failed_is_asked_again(stage):
    stage.transition("broken", conditions=[condition("Scheduled", "False", "WrongChartDeployments", "two of them")])

    assert stage.rollout("retry", "broken") == (0, "release broken-1 is tried again\n")
    assert "hanse.dev/rollout-retried" in annotations_of(stage.get(RELEASES, "broken-1"))


def test_aborting_asks_and_then_deletes_the_contender(stage):
    stage.transition("regretted")

    code, said = stage.rollout("abort", "regretted")
    assert (code, "nothing was done" in said, "Aborted" in said) == (1, True, False)
    assert stage.get(RELEASES, "regretted-1") is not None
    code, said = stage.rollout("abort", "regretted", "--yes")
    assert (code, said) == (0, "release regretted-1 is deleted; application regretted goes back to regretted-0\n")
    assert stage.get(RELEASES, "regretted-1") is None


def test_undoing_puts_the_earlier_environment_back(stage):
    stage.transition("back", step=1, achieved=1, complete=True)

    assert stage.rollout("undo", "back")[0] == 0
    assert stage.get(APPLICATIONS, "back")["spec"]["template"] == environment("0.0.1")
    assert "is that of release back-0" in stage.rollout("undo", "back", "--to", "back-0")[1]


def test_the_history_and_the_differences_are_shown(stage):
    stage.transition("told", achieved=0)
    piece = piece_of("told-1-settings", "shop", {"metadata": {"name": "settings"}, "data": {"a": "1"}})
    stage.served.ask(stage.served.host.create(PIECES, piece))

    code, history = stage.rollout("history", "told")
    assert [line.split()[:3] for line in history.splitlines()[1:]] == [
        ["1", "told-1", "contender"],
        ["0", "told-0", "incumbent"],
    ]
    code, said = stage.rollout("diff", "told", "told-0", "told-1")
    assert (code, "-  version: 0.0.1" in said, "ConfigMap/settings" in said) == (0, True, True)


def test_blocks_keep_rollouts_as_they_are_until_they_are_overridden(stage):
    stage.transition("held", achieved=0)
    made = ("blocks", "create", "freeze", "-n", "shop", "-m", "black friday", "--author", "ops")
    assert stage.rollout(*made) == (0, "rolloutblock shop/freeze created\n")
    try:
        assert "black friday" in stage.rollout("blocks", "list")[1]
        refused = "error: blocked by RolloutBlock shop/freeze (black friday): delete it, or "
        advice = "`hanse rollout blocks override held shop/freeze`\n"
        assert stage.rollout("promote", "held") == (1, refused + advice)
        assert "no RolloutBlock thaw holds" in stage.rollout("blocks", "override", "held", "thaw")[1]
        assert stage.rollout("blocks", "override", "held", "freeze")[0] == 0
        for kind, name in ((APPLICATIONS, "held"), (RELEASES, "held-1")):
            assert annotations_of(stage.get(kind, name))[OVERRIDE_ANNOTATION] == "shop/freeze"
        assert stage.rollout("promote", "held")[0] == 0
    finally:
        assert stage.rollout("blocks", "delete", "shop/freeze") == (0, "rolloutblock shop/freeze deleted\n")


def test_a_backup_makes_everything_again_and_hands_it_what_clusters_run(stage, tmp_path):
    host, member, ask = stage.served.host, stage.served.clients["eu"], stage.served.ask
    place, backup = {"namespace": "vault"}, tmp_path / "backup.yaml"
    stage.store(application("safe", namespace="vault"))
    owner = ask(host.get(APPLICATIONS, "safe", "vault"))
    made = release("safe", step=1, achieved=1, complete=True, namespace="vault")
    made["metadata"]["ownerReferences"] = [owned_by(owner)]
    stage.store(made, *targets(made))
    piece = piece_of("safe-0-settings", "vault", {"metadata": {"name": "settings"}, "data": {"a": "1"}})
    old = ask(host.create(PIECES, piece))["metadata"]["uid"]
    copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", **place}, "data": {"a": "1"}}
    copy["metadata"]["annotations"] = {OWNER_ANNOTATION: old}
    ask(member.create(CONFIGMAPS, copy))

    assert stage.rollout("backup", "-n", "vault", "-f", backup) == (0, f"6 objects written to {backup}\n")
    code, said = stage.rollout("restore", "-f", backup)
    assert (code, "Application vault/safe is there already; nothing was restored" in said) == (1, True)
    for kind in (*KINDS.values(), PIECES):
        ask(host.delete_collection(kind, "vault"))
    ask(running_shipper(host, 1))
    assert "a control plane still runs: its Deployment shipper-system/shipper has 1 pods" in restored(stage, backup)[1]
    ask(running_shipper(host, 0))
    assert restored(stage, backup) == (
        0,
        "6 objects restored, 1 objects in clusters handed to them; start the control plane\n",
    )

    application_again = ask(host.get(APPLICATIONS, "safe", "vault"))
    release_again = ask(host.get(RELEASES, "safe-0", "vault"))
    assert release_again["metadata"]["ownerReferences"] == [owned_by(application_again)]
    assert release_again["status"]["achievedStep"] == {"step": 1, "name": "full on"}
    assert (release_again["spec"], release_again["metadata"]["annotations"]) == (
        made["spec"],
        made["metadata"]["annotations"],
    )
    new = ask(host.get(PIECES, "safe-0-settings", "vault"))["metadata"]["uid"]
    assert annotations_of(ask(member.get(CONFIGMAPS, "settings", "vault")))[OWNER_ANNOTATION] == new != old


def restored(stage, backup):
    return stage.rollout("restore", "-f", backup)


def owned_by(obj):
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": name_of(obj), "uid": uid_of(obj)}


def piece_of(name, namespace, template):
    metadata = {"name": name, "namespace": namespace, "labels": {"shipper-release": name.rpartition("-")[0]}}
    piece = {"apiVersion": PIECES.api_version, "kind": "Piece", "metadata": metadata}
    return {**piece, "spec": piece_spec(CONFIGMAPS, template)}


async def running_shipper(host, replicas):
    labels = {"app": "shipper"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "shipper", "image": "shipper"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    await host.apply(DEPLOYMENTS, {**manifest, "metadata": {"name": "shipper", "namespace": "shipper-system"}})
    status = {"status": {"replicas": replicas}}
    await host.patch(DEPLOYMENTS, "shipper", status, "shipper-system", subresource="status")


@pytest.mark.parametrize("kind", ["chart", "kustomization", "manifests"])
def test_the_examples_are_what_the_federation_takes(stage, kind):
    written = yaml.safe_load((EXAMPLES / f"application-{kind}.yaml").read_text())
    written["metadata"]["namespace"] = "shop"
    strictly = WriteOptions(dry_run=True, field_validation="Strict")

    taken = stage.served.ask(stage.served.host.create(APPLICATIONS, written, options=strictly))

    named = pack(EXAMPLES / kind, "shop-0.1.0" if kind == "chart" else "shop-1").reference
    assert taken["spec"]["template"] == {**written["spec"]["template"], **named}


def test_a_template_is_rendered_as_clusters_would_get_it(stage, tmp_path):
    packed = pack(EXAMPLES / "manifests", "shop-1", "shop").manifest
    stage.served.ask(stage.served.host.create(CONFIGMAPS, packed))
    written = tmp_path / "application.yaml"
    written.write_text(
        (EXAMPLES / "application-manifests.yaml").read_text().replace("name: shop\n", "name: drawn\n", 1)
    )

    code, said = stage.rollout("render", "-f", written, "-n", "shop")

    assert code == 0, said
    found = {each["kind"]: each for each in yaml.safe_load_all(said)}
    assert found["Deployment"]["metadata"]["name"].startswith("drawn-")
    assert found["Deployment"]["spec"]["replicas"] == 0
    assert found["Service"]["spec"]["selector"]["shipper-traffic-status"] == "enabled"
    code, said = stage.rollout("render", "-f", written, "-n", "vault")
    assert (code, said) == (1, 'error: ConfigMap "vault/shop-1" does not exist\n')


def test_a_plan_says_whether_an_application_becomes_a_new_release(stage, tmp_path):
    written = tmp_path / "application.yaml"
    written.write_text(yaml.safe_dump(application("planned")))
    code, said = stage.served.say("plan", "-f", written)
    assert (code, said.startswith("Application shop/planned: a new release; "), "Nothing" in said) == (1, True, False)

    stage.store(application("planned"))

    code, said = stage.served.say("plan", "-f", written)
    assert (code, "Application shop/planned: its template is unchanged" in said) == (0, True)


@pytest.mark.parametrize("command", ["tree", "explain"])
def test_other_commands_name_the_one_that_shows_an_application(stage, command):
    code, said = stage.served.say(command, "app", "web")

    assert (code, "`hanse rollout get web` shows an application" in said) == (1, True)
