"""Rollouts as trees, and releases beside each other."""

import click
import pytest

from hanse.api.pieces import PIECES, piece_spec
from hanse.cli.failures import Failure
from hanse.cli.rollout_blocking import in_the_way
from hanse.cli.rollout_comparing import Side, differences
from hanse.cli.rollout_finding import as_refused, unknown
from hanse.cli.rollout_tree import document, rows, tree_of
from hanse.kube.errors import Conflict, Forbidden
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SECRETS
from hanse.rollouts.cluster_reading import Targets
from hanse.rollouts.reading import read_rollout
from tests.unit.cli.rollout_cases import application, condition, release, targets

OLD = release(generation=0, step=1, achieved=1, complete=True)
NEW = release(generation=1, version="0.0.2", achieved=0)


def read(**new):
    aims = {"web-0": Targets(*targets(OLD)), "web-1": Targets(*targets(NEW, percent=1, weight=0, **new))}
    return read_rollout(application(version="0.0.2"), [OLD, NEW], aims)


def pod(name, of, *, ready=True, traffic=False):
    labels = {"shipper-app": "web", "shipper-release": of, **({"shipper-traffic-status": "enabled"} if traffic else {})}
    waiting = {} if ready else {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "app"}]},
        "status": {"phase": "Running", "containerStatuses": [{"ready": ready, **waiting}]},
    }


def test_the_tree_leads_from_the_application_to_its_pods():
    pods = {"eu": [pod("a", "web-0", traffic=True), pod("b", "web-1", ready=False)]}

    laid = [[click.unstyle(cell) for cell in row] for row in rows(tree_of(read(available=0, sad=1), pods))]

    sad = 'PodsNotReady: 1/3: 1x"app" containers with [CrashLoopBackOff]'
    waits = "step 1 of 2 (staging) is achieved; `hanse rollout promote` goes on"
    assert laid == [
        ["Application/web", "", "", "", "", "waiting", waits],
        ["├─ Release/web-1", "contender", "1 of 2 (staging)", "0/1", "", "waiting", waits],
        ["│  └─ cluster eu", "", "", "0/1 (1%)", "0/0", "failed", sad],
        ["│     └─ Pod/b", "", "", "0/1", "no", "failed", "CrashLoopBackOff"],
        ["└─ Release/web-0", "incumbent", "2 of 2 (full on)", "3/3", "", "complete", ""],
        ["   └─ cluster eu", "", "", "3/3 (100%)", "100/100", "ok", ""],
        ["      └─ Pod/a", "", "", "1/1", "yes", "ok", ""],
    ]


def test_a_cluster_that_does_not_answer_says_so_on_its_line():
    laid = rows(tree_of(read(available=1), {"eu": "eu did not answer"}))

    told = [(click.unstyle(row[5]), row[6]) for row in laid if "cluster eu" in row[0]]
    assert told == [("ok", "eu did not answer")] * 2
    assert document(read(available=1), {"eu": "eu did not answer"})["unreachable"] == {"eu": "eu did not answer"}


def test_a_sentence_is_shown_once_on_a_line():
    read = read_rollout(application(version="0.0.2"), [NEW], {"web-1": Targets(*_stopped(NEW, "eu did not answer"))})

    laid = rows(tree_of(read, {"eu": "eu did not answer"}))

    told = [(click.unstyle(row[5]), row[6]) for row in laid if "cluster eu" in row[0]]
    assert told == [("working", "ServerError: eu did not answer")]


def _stopped(of, message):
    aims = targets(of, percent=1, available=0, weight=0)
    said = [condition(kind, "False", reason, message) for kind, reason in UNWELL]
    for aim in aims:
        aim["status"]["clusters"][0]["conditions"] = said
    return aims


UNWELL = (("Operational", "ServerError"), ("Ready", "ClientError"))


def piece(of, resource, manifest):
    metadata = {"name": "x", "namespace": "shop", "labels": {"shipper-release": of}}
    spec = piece_spec(resource, manifest)
    return {"apiVersion": PIECES.api_version, "kind": PIECES.kind, "metadata": metadata, "spec": spec}


def side(of, image, password):
    name = of["metadata"]["name"]
    deployment = {"metadata": {"name": name, "labels": {"shipper-release": name}}, "spec": {"image": image}}
    secret = {"metadata": {"name": "keys"}, "data": {"password": password, "user": "YQ=="}}
    digest = of["metadata"]["labels"]["shipper-release-hash"]
    settings = {"metadata": {"name": f"{name}-anchor"}, "data": {"hash": digest, "uid": f"uid of {name}"}}
    of = {**of, "metadata": {**of["metadata"], "uid": f"uid of {name}"}}
    kinds = ((DEPLOYMENTS, deployment), (SECRETS, secret), (CONFIGMAPS, settings))
    return Side(of, [piece(name, resource, manifest) for resource, manifest in kinds])


def test_releases_are_compared_by_what_they_are_made_of_and_what_came_of_it():
    found = differences(side(OLD, "nginx:1", "b25l"), side(NEW, "nginx:2", "dHdv"))

    assert [each.title for each in found] == ["environment", "Deployment/RELEASE", "Secret/keys"]
    assert "-  version: 0.0.1" in found[0].diff
    assert "+  image: nginx:2" in found[1].diff
    assert "+  password: (hidden, after)" in found[2].diff
    assert "dHdv" not in found[2].diff


def test_releases_that_are_the_same_do_not_differ_by_their_names():
    again = release(generation=3, step=1, achieved=1)

    assert differences(side(OLD, "nginx:1", "b25l"), side(again, "nginx:1", "b25l")) == []


def block(namespace, name, message="release freeze"):
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {"message": message}}


def test_what_is_in_the_way_is_named_with_what_to_do():
    blocks = [block("shop", "a"), block("other", "b"), block("rollout-blocks-global", "c", "")]
    overriding = release(annotations={"shipper.booking.com/rollout-block.override": "shop/a,rollout-blocks-global/c"})

    assert in_the_way(release(), blocks, "web") == (
        "blocked by RolloutBlock rollout-blocks-global/c, shop/a (release freeze): delete it, or "
        "`hanse rollout blocks override web rollout-blocks-global/c shop/a`"
    )
    assert in_the_way(overriding, blocks, "web") == ""


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (
            Forbidden(403, "Forbidden", "x is forbidden: policy 'p' denied request: rollout block(s) exist"),
            Failure,
            "rollout block(s) exist",
        ),
        (Forbidden(403, "Forbidden", "you may not"), Forbidden, "you may not"),
        (Conflict(409, "Conflict", "x"), Failure, "it has changed meanwhile; look at it again and repeat the command"),
    ],
)
def test_a_refusal_by_admission_is_shown_as_its_sentence(error, kind, sentence):
    with pytest.raises(kind) as refused, as_refused():
        raise error

    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        (["webshop", "worker"], "there is no application web-shop in namespace a; did you mean webshop?"),
        (["zebra"], "there is no application web-shop in namespace a; there is only zebra"),
        (["a", "b"], "there is no application web-shop in namespace a; there are a, b"),
        (list("abcdef"), "there is no application web-shop in namespace a; there are a, b, c, d, e, …"),
        ([], "there is no application web-shop in namespace a; there are none"),
    ],
)
def test_an_unknown_application_is_answered_with_what_there_is(known, sentence):
    assert unknown(Key("a", "web-shop"), [Key("a", name) for name in known]) == sentence
