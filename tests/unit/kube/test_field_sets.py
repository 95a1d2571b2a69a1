"""Sets of fields: their arithmetic, their written form, and what a configuration claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.kube.patches.field_sets import FieldSet
from hanse.kube.schemas import schema_for

DEPLOYMENT = schema_for("apps", "v1", "Deployment")

steps = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"s"', "v:3", "i:0"])
paths = st.lists(steps, min_size=1, max_size=4).map(tuple)
sets = st.frozensets(paths, max_size=8)


def as_set(fields):
    return frozenset(fields.paths())


@given(sets, sets)
def test_the_arithmetic_of_sets_holds(left, right):
    one, other = FieldSet.from_paths(left), FieldSet.from_paths(right)
    assert left | right == as_set(one.union(other))
    assert left & right == as_set(one.intersection(other))
    assert left - right == as_set(one.difference(other))
    assert len(left) == len(one)
    assert all(one.has(path) for path in left)


@given(sets, sets)
def test_taking_a_field_out_with_what_lies_below_it(left, right):
    kept = {path for path in left if not any(path[: len(gone)] == gone for gone in right)}
    assert kept == as_set(FieldSet.from_paths(left).without(FieldSet.from_paths(right)))


@given(sets)
def test_fields_written_and_read_again_are_the_same(each):
    fields = FieldSet.from_paths(each)
    assert fields == FieldSet.from_v1(fields.to_v1())


def test_a_real_entry_is_read_and_written_unchanged():
    entry = {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:template": {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"app"}': {
                            ".": {},
                            "f:image": {},
                            "f:ports": {".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:name": {}}},
                        }
                    }
                }
            },
        },
    }
    assert entry == FieldSet.from_v1(entry).to_v1()


def test_paths_are_readable():
    config = {
        "metadata": {"finalizers": ["example.com/x"]},
        "spec": {
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "app", "ports": [{"containerPort": 80}]}]}},
        },
    }
    assert list(FieldSet.of(config, DEPLOYMENT)) == [
        '.metadata.finalizers[="example.com/x"]',
        ".spec.replicas",
        '.spec.template.spec.containers[name="app"]',
        '.spec.template.spec.containers[name="app"].name',
        '.spec.template.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"]',
        '.spec.template.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"].containerPort',
    ]


@pytest.mark.parametrize(
    ("config", "claimed"),
    [
        ({"spec": {"selector": {"matchLabels": {"a": "b"}}}}, [".spec.selector"]),
        ({"metadata": {"labels": {"a": "b"}}}, [".metadata.labels.a"]),
        ({"metadata": {"labels": {}}}, [".metadata.labels"]),
        ({"metadata": {"labels": None}}, [".metadata.labels"]),
        ({"metadata": {"finalizers": []}}, []),
        ({"spec": {"template": {"spec": {"tolerations": [{"key": "a"}]}}}}, [".spec.template.spec.tolerations"]),
    ],
)
def test_atomic_parts_are_claimed_whole_and_empty_ones_as_themselves(config, claimed):
    assert claimed == list(FieldSet.of(config, DEPLOYMENT))


def test_without_a_schema_maps_are_granular_and_lists_atomic():
    config = {"spec": {"list": [{"name": "a"}], "map": {"k": {"x": 1}}}}
    assert list(FieldSet.of(config, None)) == [".spec", ".spec.list", ".spec.map", ".spec.map.k", ".spec.map.k.x"]


@pytest.mark.parametrize("step", ["x:1", "name", "k:{", "v:"])
def test_a_step_of_unknown_form_is_refused(step):
    with pytest.raises(ValueError, match="unknown field path element"):
        FieldSet.from_v1({step: {}})
