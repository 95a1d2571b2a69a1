"""Lambda controllers on `hanse up`: on the federation and in one of its clusters, by what `init` writes.

It takes half a minute, most of it waiting, which the quick tests have not.
"""

import json

import pytest

from tests.behaviour.composites_at_work import (
    a_closed_door_leaves_everything_as_it_is,
    a_controller_of_a_cluster_acts_in_that_cluster,
    a_controller_of_the_federation_has_its_children_in_the_clusters,
)
from tests.e2e.federation import HANSE, embedded_federation, run

pytestmark = pytest.mark.kubernetes


def test_what_init_writes_works_on_the_federation_and_in_a_cluster(tmp_path):
    for language in ("python", "jsonnet"):
        folder = str(tmp_path / language)
        run([*HANSE, "composite", "init", "web-app", "--language", language, "--folder", folder], home=tmp_path)
    with embedded_federation(tmp_path) as on:
        doors = json.loads(on.hanse("doors", "status", "-o", "json"))["items"]
        assert {state["composites"] for state in doors} == {True}
        a_controller_of_the_federation_has_its_children_in_the_clusters(on, tmp_path / "python", "eu-west")
        on.kubectl("federation", "delete", "compositecontroller", "web-app")
        a_controller_of_a_cluster_acts_in_that_cluster(on, tmp_path / "jsonnet", "eu-west")
        a_closed_door_leaves_everything_as_it_is(on, "eu-west")
