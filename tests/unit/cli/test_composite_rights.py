"""What Hanse may do in a cluster whose lambda controllers it runs: what was named, and no more."""

import pytest

from hanse.cli.composite_rights import NamedKind, composite_rights, parse_kind
from hanse.clusters.account import Account

ROLE = {"metadata": {"name": "hanse:east", "uid": "u1"}}


def made(*kinds, places=()):
    rights = composite_rights(Account("east"), ROLE, [parse_kind(word) for word in kinds], places)
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in rights}


def test_controllers_may_write_the_named_kinds_and_whatever_labelled_roles_allow():
    rights = made("deployments.apps", "statefulsets.apps", "pods")

    named = rights["ClusterRole", "", "hanse:east:composites-named"]
    aggregate = rights["ClusterRole", "", "hanse:east:composites-kinds"]
    (selector,) = aggregate["aggregationRule"]["clusterRoleSelectors"]
    assert selector["matchLabels"].items() <= named["metadata"]["labels"].items()
    assert {
        (group, plural) for rule in named["rules"] for group in rule["apiGroups"] for plural in rule["resources"]
    } == {
        (group, f"{plural}{part}")
        for group, plural in (("apps", "deployments"), ("apps", "statefulsets"), ("", "pods"))
        for part in ("", "/status", "/finalizers")
    }


def test_nothing_is_allowed_that_nobody_named():
    rights = made()

    rules = [rule for each in rights.values() for rule in each.get("rules", ())]
    assert {group for rule in rules for group in rule["apiGroups"]} == {
        "metacontroller.k8s.io",
        "",
        "apiextensions.k8s.io",
    }
    assert not [rule for rule in rules if "*" in (*rule["resources"], *rule["verbs"], *rule["apiGroups"])]
    assert not [rule for rule in rules if {"secrets", "configmaps"} & set(rule["resources"])]


def test_secrets_are_read_only_in_named_namespaces_and_never_listed():
    rights = made(places=("hooks",))

    role = rights["Role", "hooks", "hanse:east:composites"]
    binding = rights["RoleBinding", "hooks", "hanse:east:composites"]
    assert [rule["verbs"] for rule in role["rules"] if rule["resources"] == ["secrets"]] == [["get"]]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "hanse-east", "namespace": "hanse-system"}]


def test_everything_goes_with_hanses_own_role():
    assert {each["metadata"]["ownerReferences"][0]["uid"] for each in made("pods", places=("a",)).values()} == {"u1"}


@pytest.mark.parametrize("word", ["*", "*.apps", "Deployments.apps", "deployments/scale", ".apps", ""])
def test_what_names_no_kind_or_all_of_them_is_refused(word):
    with pytest.raises(ValueError, match="names no kind"):
        parse_kind(word)


def test_a_kind_is_its_plural_and_its_group():
    assert parse_kind("catsets.ctl.example.com") == NamedKind("catsets", "ctl.example.com")
    assert str(parse_kind("pods")) == "pods"
