"""The hash of environments; numbers are the lines of Shipper's checklist."""

import copy

import pytest

from hanse.rollouts.applications import environment_hash
from hanse.rollouts.applications.hashing import fnv1a_32, go_json, same_environment
from tests.unit.rollouts.applications.cases import seed_environment


@pytest.mark.parametrize(("version", "expected"), [("0.0.1", "71fd5980"), ("0.0.2", "3acd4093")])
def test_1_9_the_seeds_environment_has_the_hash_that_shipper_gave_it(version, expected):
    assert environment_hash(seed_environment(version)) == expected


def test_14_a_hash_is_written_without_leading_zeros():
    environment = seed_environment()
    environment["values"]["replicaCount"] = 41

    assert environment_hash(environment) == "1a26fda"


@pytest.mark.parametrize(("data", "expected"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)])
def test_fnv1a_gives_the_published_values(data, expected):
    assert fnv1a_32(data) == expected


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (3.0, "3"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1.2345678901234568e20, "123456789012345680000"),
        (1e21, "1e+21"),
        (2.5e22, "2.5e+22"),
        (0.000001, "0.000001"),
        (1.5e-9, "1.5e-9"),
        (9007199254740993, "9007199254740993"),
        ("a<b>&c", '"a\\u003cb\\u003e\\u0026c"'),
        ("\u2028\u2029é\x7f", '"\\u2028\\u2029é\x7f"'),
        ('"\\b\b\f\n\x01', '"\\"\\\\b\\u0008\\u000c\\n\\u0001"'),
        ({"b": [True, None], "a": {}}, '{"b":[true,null],"a":{}}'),
    ],
)
def test_json_is_written_as_go_writes_it(value, written):
    assert go_json(value) == written


def test_the_order_in_which_fields_were_written_does_not_matter():
    environment = seed_environment()
    turned = {name: environment[name] for name in reversed(environment)}
    turned["values"] = {"z": 1, "a": {"y": 1, "b": 2}}
    environment["values"] = {"a": {"b": 2, "y": 1}, "z": 1}

    assert environment_hash(turned) == environment_hash(environment)
    assert same_environment(turned, environment)


@pytest.mark.parametrize(
    "same",
    [
        lambda environment: environment["clusterRequirements"].update(capabilities=[]),
        lambda environment: environment["clusterRequirements"]["regions"][0].update(replicas=None),
        lambda environment: environment["strategy"].update(waves=[]),
    ],
)
def test_what_is_empty_changes_no_hash(same):
    environment = seed_environment()
    same(environment)

    assert environment_hash(environment) == "71fd5980"
    assert same_environment(environment, seed_environment())


@pytest.mark.parametrize(
    "change",
    [
        lambda environment: environment["clusterRequirements"].update(capabilities=["gpu"]),
        lambda environment: environment["clusterRequirements"]["regions"][0].update(replicas=1),
        lambda environment: environment["strategy"]["steps"][0].update(pause={"duration": "5m"}),
        lambda environment: environment["strategy"].update(onFailure="Abort"),
        lambda environment: environment["values"].update(replicaCount=4),
        lambda environment: environment.pop("chart") and environment.update(source={"manifests": {"location": "x"}}),
    ],
)
def test_whatever_changes_the_environment_changes_its_hash(change):
    environment = seed_environment()
    change(environment)

    assert environment_hash(environment) != "71fd5980"
    assert not same_environment(environment, seed_environment())


def test_hashing_leaves_the_environment_as_it_is():
    environment = seed_environment()
    before = copy.deepcopy(environment)
    environment_hash(environment)

    assert environment == before
