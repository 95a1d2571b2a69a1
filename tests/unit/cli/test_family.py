"""The tree of what became of an object."""

from hanse.cli.family import Relatives, descendants, tree_of
from hanse.cli.health import Mark
from hanse.cli.tree import document, lines


def obj(kind, name, owner="", replicas=1):
    metadata = {"name": name, "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = [{"uid": f"uid-{owner}", "kind": "x", "name": owner, "controller": True}]
    status = {"readyReplicas": replicas, "replicas": replicas}
    return {"kind": kind, "metadata": metadata, "spec": {"replicas": replicas}, "status": status}


def pod(name, owner, ready=True):
    status = {"phase": "Running", "containerStatuses": [{"ready": ready}]}
    return {**obj("Pod", name, owner), "spec": {"containers": [{}]}, "status": status}


WEB = obj("Deployment", "web")
NEW, OLD = obj("ReplicaSet", "web-2", "web"), obj("ReplicaSet", "web-1", "web", replicas=0)
PODS = [pod("web-2-b", "web-2"), pod("web-2-a", "web-2", ready=False), pod("other", "elsewhere")]


def test_only_what_the_copy_controls_descends_from_it_parents_first():
    assert [each["metadata"]["name"] for each in descendants(WEB, [*PODS, NEW, OLD])] == [
        "web-1",
        "web-2",
        "web-2-a",
        "web-2-b",
    ]


def test_the_tree_has_every_cluster_with_a_copy_and_no_earlier_revision():
    relatives = {"b": Relatives(WEB, (NEW, OLD, *PODS[:2])), "a": "did not answer", "c": Relatives(None)}

    root = tree_of(WEB, relatives)

    assert [f"{lead}{branch.title}" for lead, branch in lines(root)] == [
        "Deployment/web",
        "├─ cluster a",
        "└─ cluster b",
        "   └─ ReplicaSet/web-2",
        "      ├─ Pod/web-2-a",
        "      └─ Pod/web-2-b",
    ]
    assert root.health.mark is Mark.OK
    assert root.worst is Mark.FAILED


def test_a_program_gets_the_worst_state_below_each_line():
    told = document(tree_of(WEB, {"b": Relatives(WEB, (NEW, *PODS[:2]))}))

    assert (told["state"], told["worst"]) == ("ok", "waiting")
    assert told["children"][0]["children"][0]["children"][0]["why"] == "not ready"
