"""Manifests and answers that made a reader fail once: each is read, or refused in a sentence that names the field."""

import pytest
import yaml

from hanse.api.plain_kinds import AUTOSCALERS
from hanse.composite.bodies import read_sync
from hanse.native.dividing import divisible
from hanse.native.rules import travelling
from hanse.pods.admission.requests import request_in
from hanse.propagation.intent import Problem
from hanse.rollouts.sources.skimming import Skimming
from hanse.services.ingress.manifest import IngressError, rules_of


@pytest.mark.parametrize(("least", "most"), [(-1, 3), (0, 0), (1, -5)])
def test_an_autoscaler_with_absurd_limits_is_refused_by_its_fields(least, most):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}

    found = divisible(AUTOSCALERS, {"metadata": {"name": "web"}, "spec": spec})

    assert isinstance(found, Problem)
    assert "spec.minReplicas" in found.message


@pytest.mark.parametrize("ports", [[None], None])
def test_a_service_with_ports_that_are_none_is_read(ports):
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports}}

    assert travelling(body)["spec"]["ports"] in ([{}], [])


@pytest.mark.parametrize("groups", [True, 7, {"a": "b"}, "admins"])
def test_groups_of_a_user_that_are_no_list_are_no_groups(groups):
    assert request_in({"userInfo": {"username": "bob", "groups": groups}}).groups == ()


@pytest.mark.parametrize("rules", [7, [None], [{"http": {"paths": [-0.0]}}], [{"http": {"paths": 3}}]])
def test_rules_of_an_ingress_that_are_no_mappings_are_refused_with_their_field(rules):
    with pytest.raises(IngressError, match=r"spec\.rules.* must be a list of mappings"):
        rules_of({"spec": {"rules": rules}})


@pytest.mark.parametrize("seconds", [10**400, float("inf"), float("nan"), True])
def test_seconds_that_nobody_could_wait_are_refused(seconds):
    found = read_sync({"children": [], "resyncAfterSeconds": seconds}, strict=False)

    assert "resyncAfterSeconds must be a number of seconds" in str(found)


def test_an_index_of_charts_that_goes_ever_deeper_is_refused_at_once():
    with pytest.raises(yaml.YAMLError, match="levels deep"):
        Skimming(b'{"a":' * 50_000 + b"1" + b"}" * 50_000).document()
