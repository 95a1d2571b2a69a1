"""Hanse's account in a member, its tokens, and the taints of a Cluster."""

import base64
import json

import pytest

from hanse.api.clusters import Taint
from hanse.clusters.account import Account, account_manifests, cluster_rules
from hanse.clusters.tainting import TaintError, parse_taint, with_taint, without_taint
from hanse.clusters.tokens import account_of, due_for_renewal, token_life
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS

EAST = Account("east")


def token(**claims):
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.signature"


def secret(text, **annotations):
    data = {"token": base64.b64encode(text.encode()).decode(), "ca.crt": base64.b64encode(b"x").decode()}
    return {"metadata": {"name": "s", "namespace": "n", "annotations": annotations}, "data": data}


OURS = {"hanse.dev/service-account": "hanse-system/hanse-east"}


def test_no_rule_names_everything():
    rules = cluster_rules(EAST, [NAMESPACES, CONFIGMAPS, DEPLOYMENTS])

    assert all("*" not in rule.get(part, ()) for rule in rules for part in ("apiGroups", "resources", "verbs"))
    assert not any("secrets" in rule.get("resources", ()) for rule in rules)


def test_pods_are_only_read_and_labelled_unless_they_are_federated():
    def verbs(*kinds):
        return {
            verb for rule in cluster_rules(EAST, kinds) if "pods" in rule.get("resources", ()) for verb in rule["verbs"]
        }

    assert verbs(CONFIGMAPS) == {"get", "list", "watch", "patch"}
    assert "create" in verbs(PODS)


def test_everything_in_the_member_names_the_federation_that_made_it():
    manifests = account_manifests(EAST, "federation-uid", [CONFIGMAPS])

    assert [each["kind"] for each in manifests] == [
        "ClusterRole",
        "ClusterRoleBinding",
        "Namespace",
        "ServiceAccount",
        "Role",
        "RoleBinding",
    ]
    named = [each["metadata"]["annotations"] for each in manifests if each["kind"] != "Namespace"]
    assert all(each == {"hanse.dev/federation": "federation-uid"} for each in named)


@pytest.mark.parametrize(
    ("text", "life"),
    [
        (token(iat=100, exp=300), (100, 300)),
        (token(iat=100), None),
        ("opaque", None),
        ("a.%%%.c", None),
        (token(iat="soon", exp=[]), None),
        ("", None),
    ],
)
def test_a_tokens_life_is_its_own_word(text, life):
    found = token_life(text)

    assert (found and (found.issued, found.ends)) == life


@pytest.mark.parametrize(
    ("now", "annotations", "due"),
    [(199, OURS, False), (200, OURS, True), (10_000, OURS, True), (200, {}, False)],
    ids=["first half", "half", "long over", "not ours"],
)
def test_a_token_of_ours_is_renewed_when_half_of_its_life_is_over(now, annotations, due):
    stored = secret(token(iat=100, exp=300), **annotations)

    assert (due_for_renewal(stored, now) is not None) is due
    assert (account_of(stored) is not None) is bool(annotations)


@pytest.mark.parametrize(
    ("text", "taint", "removal"),
    [
        ("a=b:NoSchedule", Taint("a", "b", "NoSchedule"), False),
        ("example.com/a:NoExecute", Taint("example.com/a", "", "NoExecute"), False),
        ("a:NoSchedule-", Taint("a", "", "NoSchedule"), True),
        ("a-", Taint("a", "", ""), True),
    ],
)
def test_taints_are_written_as_for_nodes(text, taint, removal):
    assert parse_taint(text) == (taint, removal)


@pytest.mark.parametrize("text", ["a", "a=b", "a:Prefer", ":NoSchedule", "a b:NoSchedule", "", "-"])
def test_what_is_no_taint_is_refused(text):
    with pytest.raises(TaintError):
        parse_taint(text)


def test_a_taint_keeps_its_time_until_it_changes():
    first = with_taint((), Taint("a", "1", "NoSchedule"), "t1")
    same = with_taint(first, Taint("a", "1", "NoSchedule"), "t2")
    other = with_taint(same, Taint("a", "2", "NoSchedule"), "t3")

    assert [first, same, other] == [
        (Taint("a", "1", "NoSchedule", "t1"),),
        (Taint("a", "1", "NoSchedule", "t1"),),
        (Taint("a", "2", "NoSchedule", "t3"),),
    ]
    assert without_taint((*other, Taint("a", "", "NoExecute")), Taint("a", "", "NoSchedule")) == (
        Taint("a", "", "NoExecute"),
    )
    assert without_taint((*other, Taint("a", "", "NoExecute")), Taint("a", "", "")) == ()
