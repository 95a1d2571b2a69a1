"""Who asks that what pods need follows them, and what a federation on paper makes of it."""

import pytest

import hanse
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS
from hanse.native import NativeDoor
from hanse.placement.policy import read_policies
from hanse.propagation.dependencies import Need, Needs
from hanse.propagation.intent import Follows, Intent, Problem, Ref

DEPENDENCIES = "hanse.dev/dependencies"
SELECTOR = "federation.alpha.kubernetes.io/cluster-selector"
IN_EUROPE = '[{"key": "region", "operator": "=", "values": ["eu"]}]'
SETTINGS = Need(Ref(CONFIGMAPS, Key("shop", "settings")))
FOLLOW = {"dependencies": "Follow"}


def web(**annotations):
    pod = {"containers": [{"name": "main", "envFrom": [{"configMapRef": {"name": "settings"}}]}]}
    metadata = {"name": "web", "namespace": "shop", "annotations": annotations}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 2, "template": {"spec": pod}},
    }


def settings(name="settings", **annotations):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations},
    }


def policy(kind="*", **spec):
    return {
        "apiVersion": "hanse.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"selects": [{"kind": kind}], **spec},
    }


def door(*policies):
    return NativeDoor(policies=read_policies(policies))


@pytest.mark.parametrize(
    ("source", "policies", "follow"),
    [
        (web(), [], False),
        (web(**{DEPENDENCIES: "follow"}), [], True),
        (web(**{DEPENDENCIES: "stay"}), [], False),
        (web(), [policy(**FOLLOW)], True),
        (web(), [policy("Deployment", **FOLLOW)], True),
        (web(), [policy("StatefulSet", **FOLLOW)], False),
        (web(), [policy()], False),
        (web(**{DEPENDENCIES: "stay"}), [policy(**FOLLOW)], False),
        (web(**{DEPENDENCIES: "follow"}), [policy()], True),
    ],
)
def test_an_annotation_or_a_policy_asks_that_what_pods_need_follows(source, policies, follow):
    assert door(*policies).needs(source) == Needs((SETTINGS,), follow)


@pytest.mark.parametrize("source", [settings(), web(**{"hanse.dev/federate": "false", DEPENDENCIES: "follow"})])
def test_what_runs_nothing_or_is_not_federated_asks_nothing(source):
    assert door().needs(source) == Needs()


@pytest.mark.parametrize(
    ("source", "policies", "follows"),
    [
        (settings(), [], Follows.ASKED),
        (settings(**{DEPENDENCIES: "follow"}), [], Follows.ALWAYS),
        (settings(**{DEPENDENCIES: "stay"}), [], Follows.NEVER),
        (settings(**{SELECTOR: IN_EUROPE}), [], Follows.NEVER),
        (settings(), [policy()], Follows.NEVER),
        (settings(), [policy("Deployment")], Follows.ASKED),
        (settings(), [policy(**FOLLOW)], Follows.ASKED),
        (settings(**{SELECTOR: IN_EUROPE}), [policy(**FOLLOW)], Follows.NEVER),
        (web(**{DEPENDENCIES: "follow"}), [], Follows.NEVER),
        ({**settings(), "kind": "Service"}, [], Follows.NEVER),
    ],
)
def test_a_placement_of_its_own_counts_before_following(source, policies, follows):
    intent = door(*policies).translate(source)

    assert isinstance(intent, Intent)
    assert intent.follows is follows


@pytest.mark.parametrize("source", [web(**{DEPENDENCIES: "true"}), settings(**{DEPENDENCIES: "true"})])
def test_a_word_that_means_nothing_is_told(source):
    assert door().translate(source) == Problem(
        "InvalidDependencies", "annotation hanse.dev/dependencies must be follow or stay, not true"
    )


CLUSTERS = {"paris": {"region": "eu"}, "boston": {"region": "us"}}


def test_on_paper_what_files_name_follows_too_and_moves_in_a_drill():
    europe_first = [{"name": name, "clusters": {"names": [name]}} for name in ("paris", "boston")]
    objects = [web(), settings(), settings("other")]
    federation = hanse.Federation(hanse.fleet(CLUSTERS), [policy("Deployment", groups=europe_first, **FOLLOW)])
    federation = federation.beside(objects)

    follows, other = (federation.rehearse(each) for each in objects[1:])
    assert follows.planned.decision.chosen() == ["paris"]
    assert follows.intent.sources == ("it follows Deployment shop/web",)
    assert other.planned.decision.chosen() == ["boston", "paris"]
    assert federation.without("paris").rehearse(objects[1]).planned.decision.chosen() == ["boston"]


def test_a_policy_that_is_a_function_counts_before_following():
    federation = hanse.Federation(hanse.fleet(CLUSTERS)).beside([web(**{DEPENDENCIES: "follow", SELECTOR: IN_EUROPE})])

    def anywhere(_manifest):
        return hanse.Placement()

    assert federation.rehearse(settings()).planned.decision.chosen() == ["paris"]
    assert federation.rehearse(settings(), anywhere).planned.decision.chosen() == ["boston", "paris"]
