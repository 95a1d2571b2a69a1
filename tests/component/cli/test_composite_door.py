"""`hanse doors enable composites` and what follows, typed against a cluster that has joined with few rights."""

import asyncio
import json
import re

import pytest
from click.testing import CliRunner

from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION, parse_cluster
from hanse.api.metacontroller.definitions import COMPOSITE_CONTROLLER_CRD, METACONTROLLER_CRDS
from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.cli.composite_parts import place_in
from hanse.cli.composite_serve import lease_of, serve_cluster
from hanse.cli.connection import connect_member
from hanse.cli.main import main
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from hanse.kube.cache import Cache
from hanse.kube.conditions import is_true
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import annotations_of, dig, finalizers_of, owner_reference
from hanse.kube.resources import CONFIGMAPS, CRDS, LEASES
from tests.component.served_federation import ServedFederation
from tests.simulation.composite.stage import THINGS, child, composite, config, parent_crd, thing

DOOR = ("composites", "--cluster", "east")
KINDS = ("--kinds", "things.ctl.example.com,configmaps")


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("composites"), "east")
    code, told = opened.say("join", "east", "--kubeconfig", opened.config)
    assert code == 0, told
    opened.ask(opened.clients["east"].create(CRDS, parent_crd(THINGS)))
    open_door(opened, "--hook-namespaces", "default")
    yield opened
    opened.close()


def doors(stage):
    return annotations_of(stage.ask(stage.host.get(CLUSTERS, "east"))).get(DOORS_ANNOTATION)


def everything(stage):
    """Return the versions of what a door is made of."""

    async def read():
        listed = [await stage.clients["east"].list(kind) for kind in (CRDS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)]
        clusters = await stage.host.list(CLUSTERS)
        return [each["metadata"]["resourceVersion"] for found in (*listed, clusters) for each in found.items]

    return stage.ask(read())


def open_door(stage, *words):
    code, told = stage.say("doors", "enable", *DOOR, *KINDS, "--kubeconfig", stage.config, *words)
    assert code == 0, told
    return told


def as_hanse(stage, question):
    """Do something in the cluster as the account with which Hanse signs in there."""

    async def ask():
        member = await connect_member(stage.host, parse_cluster(await stage.host.get(CLUSTERS, "east")))
        try:
            return await question(place_in(member.client, trusted=False).client)
        finally:
            await member.client.close()

    return stage.ask(ask())


def test_a_rehearsal_shows_everything_and_changes_nothing(stage):
    before = everything(stage)
    rehearsed = stage.type("doors", "enable", *DOOR, *KINDS, "--kubeconfig", stage.config, "--dry-run", "-o", "json")

    kinds = [each["kind"] for each in json.loads(rehearsed.stdout)["in the cluster east"]]
    assert kinds[: len(METACONTROLLER_CRDS)] == ["CustomResourceDefinition"] * len(METACONTROLLER_CRDS)
    assert sorted(set(kinds)) == ["ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Namespace"]
    assert everything(stage) == before


def test_an_open_door_gives_hanse_the_rights_that_were_named_and_no_others(stage):
    status = stage.type("doors", "status", "-o", "json")

    async def try_all(client):
        await client.list(COMPOSITE_CONTROLLERS)
        await client.list(THINGS)
        with pytest.raises(Forbidden):
            await client.list(CLUSTER_ROLES)

    as_hanse(stage, try_all)
    assert doors(stage) == "composites"
    assert [each["composites"] for each in json.loads(status.stdout)["items"]] == [True]


def test_a_closed_door_leaves_parents_held_by_nobody_and_opens_over_metacontrollers_kinds_only_if_asked(stage):
    east = stage.clients["east"]
    hooks = {name: {"webhook": {"url": "http://hook"}} for name in ("sync", "finalize")}
    held = thing("held")
    held["metadata"]["finalizers"] = ["example.com/others", "metacontroller.io/compositecontroller-things"]
    stage.ask(east.create(COMPOSITE_CONTROLLERS, composite("things", hooks, child(CONFIGMAPS))))
    stage.ask(east.create(THINGS, held))
    shown = stage.say("composite", "get", "things")

    refused = stage.say("doors", "disable", *DOOR, "--kubeconfig", stage.config)
    code, told = stage.say("doors", "disable", *DOOR, "--kubeconfig", stage.config, "--yes", "--wait", "20")
    closed = doors(stage)
    left = stage.ask(east.list(CLUSTER_ROLE_BINDINGS)).items
    theirs = {"spec": parent_crd(COMPOSITE_CONTROLLERS)["spec"]}
    stage.ask(east.patch(CRDS, COMPOSITE_CONTROLLERS.group_resource, theirs))
    held_back = stage.say("doors", "enable", *DOOR, "--kubeconfig", stage.config)
    taken = open_door(stage, "--take-over")

    assert shown[0] == 0
    assert "nobody has looked at it yet" in shown[1]
    assert refused[0] == 1
    assert "1 parents have a finalize hook, which is not called when they are deleted" in told
    assert (code, closed) == (0, None)
    assert finalizers_of(stage.ask(east.get(THINGS, "held", "default"))) == ["example.com/others"]
    assert [each for each in left if "composites" in each["metadata"]["name"]] == []
    assert held_back[0] == 1
    assert "Metacontroller's definitions are there; stop Metacontroller" in held_back[1]
    assert "they may write things.ctl.example.com, configmaps" in taken


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([*DOOR, "--kinds", "*"], 2, "--kinds: '*' names no kind"),
        ([*DOOR, "--image", "x"], 2, "--targets, --image and --admission-url are for pods"),
        ([*DOOR, "--kinds", "geese.example.com", "--dry-run"], 0, "# the cluster serves no geese.example.com yet"),
        (["pods", "--cluster", "east", "--kinds", "pods"], 2, "are for composites"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(stage, words, code, said):
    found = stage.say("doors", "enable", *words)

    assert found[0] == code
    assert said in found[1]


def test_a_controller_is_run_alone_only_where_its_kinds_are_and_nobody_else_runs_it(stage, tmp_path):
    CliRunner().invoke(main, ["composite", "init", "web-app", "--folder", str(tmp_path / "made")])
    stored = composite("web-app", {"sync": {"webhook": {"url": "http://hook"}}}, child(CONFIGMAPS))
    where = ("--kubeconfig", str(stage.config), "--context", "east")

    missing = CliRunner().invoke(main, ["composite", "run", str(tmp_path / "made"), *where])
    stage.ask(stage.clients["east"].create(COMPOSITE_CONTROLLERS, stored))
    twice = CliRunner().invoke(main, ["composite", "run", str(tmp_path / "made"), *where])
    stage.ask(stage.clients["east"].delete(COMPOSITE_CONTROLLERS, "web-app"))

    assert (missing.exit_code, twice.exit_code) == (1, 1)
    assert "serves no webapps of example.com/v1; --install defines" in missing.output
    assert "CompositeController web-app is stored in the cluster" in twice.output


def test_a_tree_has_the_children_of_a_parent_on_the_federation_or_in_a_cluster(stage):
    async def write(client, name):
        controller = composite("trees", {"sync": {"webhook": {"url": "http://hook"}}}, child(CONFIGMAPS))
        await client.create(COMPOSITE_CONTROLLERS, controller)
        parent = await client.create(THINGS, thing(name))
        made = config(f"{name}-0", name, "default")
        made["metadata"]["ownerReferences"] = [owner_reference({**parent, "kind": "Thing"})]
        await client.create(CONFIGMAPS, made)

    async def define(client):
        for crd in (COMPOSITE_CONTROLLER_CRD, parent_crd(THINGS)):
            await client.create(CRDS, crd)

    stage.ask(define(stage.host))
    stage.ask(write(stage.host, "home"))
    stage.ask(write(stage.clients["east"], "away"))
    home, away, nowhere = (stage.say("tree", "thing", name) for name in ("home", "away", "nowhere"))

    titles = [[re.split(r"\s{2,}-", line)[0] for line in told.splitlines()[1:]] for _, told in (home, away)]
    assert titles == [
        ["Thing/home", "└─ ConfigMap/home-0"],
        ["Thing/away", "└─ cluster east", "   └─ ConfigMap/away-0"],
    ]
    assert nowhere[0] == 1
    assert "not found in any namespace of the federation" in nowhere[1]


def test_a_process_of_its_own_runs_the_controllers_of_its_selector_while_it_has_the_lease(stage):
    east = stage.clients["east"]
    hooks = {"sync": {"jsonnet": {"inline": "function(request) {}"}}}
    ours = composite("served", hooks, child(CONFIGMAPS))
    ours["metadata"]["labels"] = {"team": "blue"}

    async def try_it():
        await east.create(COMPOSITE_CONTROLLERS, ours)
        ready, cache = asyncio.Event(), Cache(east, COMPOSITE_CONTROLLERS, labels="team=blue")
        cache.subscribe(lambda change: ready.set() if is_ready(change.new) else None)
        working = [
            asyncio.create_task(cache.run()),
            asyncio.create_task(serve_cluster(stage.endpoints["east"], "team=blue", trusted=False)),
        ]
        try:
            async with asyncio.timeout(50):
                await ready.wait()
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
        return await east.get(LEASES, *reversed(lease_of("team=blue")))

    assert stage.ask(try_it())["metadata"]["namespace"] == "hanse-system"


def is_ready(controller):
    return is_true(dig(controller, "status", "conditions"), "Ready")


def test_each_selector_has_a_lease_of_its_own():
    assert str(lease_of("")) == "hanse-system/hanse-composites"
    assert len({lease_of(""), lease_of("team=blue"), lease_of("team=red")}) == 3
    assert lease_of("team=blue") == lease_of("team=blue")
