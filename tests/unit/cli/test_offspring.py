"""Which kinds descend from which, and the tree of a parent whose children have copies in clusters."""

from hanse.cli.family import Branch, Relatives, children_at_home
from hanse.cli.health import Health, Mark
from hanse.cli.offspring import making, parents_of
from hanse.composite.spec import KindRef

CATS, DOGS = KindRef("example.com/v1", "cats"), KindRef("example.com/v1", "dogs")
CONFIGS, PODS = KindRef("v1", "configmaps"), KindRef("v1", "pods")


def rule(ref):
    return {"apiVersion": ref.api_version, "resource": ref.resource}


def test_what_all_controllers_make_of_a_kind_is_put_together():
    composite = {"spec": {"parentResource": rule(CATS), "childResources": [rule(PODS)]}}
    decorator = {"spec": {"resources": [rule(CATS), rule(DOGS)], "attachments": [rule(CONFIGS)]}}
    mapping = {"spec": {"parentResource": rule(DOGS), "outputResources": [rule(PODS)]}}

    assert making([composite, decorator, mapping, {}]) == {CATS: [PODS, CONFIGS], DOGS: [CONFIGS, PODS]}
    assert parents_of(decorator) == [CATS, DOGS]


def obj(kind, name, owner=""):
    metadata = {"name": name, "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = [{"uid": f"uid-{owner}", "kind": "x", "name": owner, "controller": True}]
    return {"kind": kind, "metadata": metadata}


def test_children_are_below_their_parent_with_their_copies_below_them():
    parent, child, grandchild = obj("Cat", "tom"), obj("CatSet", "kittens", "tom"), obj("ConfigMap", "a", "kittens")
    copy = Branch("cluster eu", Health(Mark.OK))

    (found,) = children_at_home(parent, Relatives(parent, (child, grandchild)), {"uid-a": (copy,)})

    assert found.title == "CatSet/kittens"
    assert [each.title for each in found.children] == ["ConfigMap/a"]
    assert found.children[0].children == (copy,)
