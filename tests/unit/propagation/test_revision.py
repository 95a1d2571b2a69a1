"""A copy whose rendering changes: ours follows, what others put there stays."""

import pytest

from hanse.kube.schemas import schema_for
from hanse.propagation.revision import revised

DEPLOYMENT = schema_for("apps", "v1", "Deployment")


def containers(*names, **fields):
    return {"spec": {"template": {"spec": {"containers": [{"name": name, **fields} for name in names]}}}}


CASES = {
    "a changed field": (
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 3}},
        {"spec": {"replicas": 3}},
    ),
    "a drifted field": (
        {"spec": {"replicas": 9}},
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 2}},
    ),
    "a field that goes": (
        {"spec": {"replicas": 2, "paused": True}},
        {"spec": {"replicas": 2, "paused": True}},
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 2}},
    ),
    "a field of somebody else": (
        {"spec": {"replicas": 2, "paused": True}, "status": {"replicas": 2}},
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 3}},
        {"spec": {"replicas": 3, "paused": True}, "status": {"replicas": 2}},
    ),
    "a mapping that goes, with something of somebody else in it": (
        {"spec": {"selector": {"matchLabels": {"ours": "1", "theirs": "1"}}, "strategy": {"type": "Recreate"}}},
        {"spec": {"strategy": {"type": "Recreate"}}, "metadata": {}},
        {"spec": {}},
        {"spec": {"selector": {"matchLabels": {"ours": "1", "theirs": "1"}}}},
    ),
    "a container of somebody else": (
        containers("web", "sidecar"),
        containers("web"),
        containers("web", image="new"),
        {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "new"}, {"name": "sidecar"}]}}}},
    ),
    "a container that goes and one that comes": (
        containers("web", "old", "sidecar"),
        containers("web", "old"),
        containers("new", "web"),
        containers("web", "sidecar", "new"),
    ),
    "a default inside a container": (
        containers("web", image="a", imagePullPolicy="Always"),
        containers("web", image="a"),
        containers("web", image="b"),
        containers("web", image="b", imagePullPolicy="Always"),
    ),
    "a list that is one value": (
        containers("web", args=["a", "b"]),
        containers("web", args=["a", "b"]),
        containers("web", args=["c"]),
        containers("web", args=["c"]),
    ),
    "a list that goes": (
        containers("web", args=["a"]),
        containers("web", args=["a"]),
        containers("web"),
        containers("web"),
    ),
}


@pytest.mark.parametrize(("live", "last", "wanted", "expected"), CASES.values(), ids=CASES)
def test_ours_follows_and_the_rest_stays(live, last, wanted, expected):
    metadata = {"metadata": {"name": "web"}}

    assert revised({**live, **metadata}, last, wanted, DEPLOYMENT) == {**expected, **metadata}


def test_a_finalizer_of_somebody_else_stays_and_ours_goes():
    live = {"metadata": {"finalizers": ["ours/old", "theirs/x"]}}

    result = revised(
        live, {"metadata": {"finalizers": ["ours/old"]}}, {"metadata": {"finalizers": ["ours/new"]}}, DEPLOYMENT
    )

    assert result["metadata"]["finalizers"] == ["ours/new", "theirs/x"]


def test_the_version_goes_along_and_the_managed_fields_do_not():
    live = {"metadata": {"name": "web", "resourceVersion": "7", "managedFields": [{"manager": "hanse"}]}}

    assert revised(live, {"metadata": {}}, {"metadata": {"name": "web"}}, DEPLOYMENT)["metadata"] == {
        "name": "web",
        "resourceVersion": "7",
    }


def test_what_was_given_is_not_changed():
    live, last, wanted = ({"metadata": {"labels": {name: "1"}}} for name in ("live", "last", "wanted"))

    revised(live, last, wanted, DEPLOYMENT)

    assert [each["metadata"]["labels"] for each in (live, last, wanted)] == [
        {"live": "1"},
        {"last": "1"},
        {"wanted": "1"},
    ]
