"""The kinds that a release brings along with it."""

import pytest

from hanse.kube.resources import CRDS, Resource
from hanse.rollouts.releases.rendering import defined_by
from hanse.rollouts.sources import SourceProblem


def definition(**changes):
    spec = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [{"name": "v1"}, {"name": "v2"}],
    }
    metadata = {"name": "gadgets.example.com"}
    return {"apiVersion": CRDS.api_version, "kind": CRDS.kind, "metadata": metadata, "spec": spec | changes}


def test_a_definition_defines_a_kind_in_each_of_its_versions():
    assert defined_by(definition()) == [
        (("example.com", each, "Gadget"), Resource("example.com", each, "gadgets", "Gadget", namespaced=False))
        for each in ("v1", "v2")
    ]
    assert defined_by({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}) == []


ODD = {
    "versions that are an object": ({"versions": {}}, "spec.versions must be a list"),
    "no versions": ({"versions": None}, "spec.versions must be a list"),
    "a version that is nothing": ({"versions": [None]}, "spec.versions must be a list of objects with names"),
    "a version without a name": ({"versions": [{}]}, "spec.versions must be a list of objects with names"),
    "a version that is a word": ({"versions": ["v1"]}, "spec.versions must be a list of objects with names"),
    "a group that is a list": ({"group": []}, "spec.group must be a string"),
    "names that are a list": ({"names": ["Gadget"]}, "spec.names.kind must be a string"),
    "a plural that is an object": (
        {"names": {"kind": "Gadget", "plural": {}}},
        "spec.names.plural must be a string",
    ),
}


@pytest.mark.parametrize(("changes", "told"), ODD.values(), ids=ODD)
def test_an_odd_definition_is_refused_with_one_sentence(changes, told):
    with pytest.raises(SourceProblem) as caught:
        defined_by(definition(**changes))

    assert str(caught.value) == f'CustomResourceDefinition "gadgets.example.com": {told}'
    assert (caught.value.reason, caught.value.transient) == ("ChartError", False)
