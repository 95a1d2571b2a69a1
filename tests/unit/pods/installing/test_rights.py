"""Least privilege: what the door for pods gives Hanse, and its admission server, is a list that is looked at."""

from hanse.api.admiralty.kinds import GROUP
from hanse.clusters.account import Account
from hanse.pods.installing.rights import host_rights, source_rights, target_rights
from hanse.pods.installing.rules import ADMISSION_RULES, SOURCE_RULES, TARGET_RULES

ROLE = {"metadata": {"name": "hanse:eu", "uid": "r1"}}
EU = {"metadata": {"name": "eu", "uid": "c1"}}


def verbs(rules, group, resource):
    return {
        verb for rule in rules if group in rule["apiGroups"] and resource in rule["resources"] for verb in rule["verbs"]
    }


def test_no_rule_is_for_everything():
    for rule in (*SOURCE_RULES, *TARGET_RULES, *ADMISSION_RULES):
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])


def test_a_source_gives_no_right_to_make_pods_or_to_look_into_them():
    assert "create" not in verbs(SOURCE_RULES, "", "pods")
    assert verbs(SOURCE_RULES, "", "pods/exec") == verbs(SOURCE_RULES, "", "pods/log") == set()
    assert verbs(SOURCE_RULES, "", "pods/binding") == {"create"}


def test_a_target_gives_rights_to_bind_two_roles_and_no_others():
    bound = [rule for rule in TARGET_RULES if "bind" in rule["verbs"] or "escalate" in rule["verbs"]]

    assert [rule["resourceNames"] for rule in bound] == [["admiralty-source", "admiralty-cluster-summary-viewer"]]
    assert all("escalate" not in rule["verbs"] for rule in bound)


def test_the_admission_server_reads_targets_and_nothing_else():
    assert [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in ADMISSION_RULES] == [
        ([GROUP], ["targets", "clustertargets"], ["get", "list", "watch"])
    ]


def test_every_right_goes_with_hanses_account():
    made = [*source_rights(Account("eu"), ROLE), *target_rights(Account("eu"), ROLE)]

    assert {each["metadata"]["ownerReferences"][0]["uid"] for each in made} == {"r1"}
    assert {each["kind"] for each in made} == {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}


def test_authors_of_a_source_may_use_its_targets_and_no_other_cluster():
    role, binding = host_rights("eu", ["us", "ap"], EU)

    assert role["rules"] == [
        {
            "apiGroups": ["clusterregistry.k8s.io"],
            "resources": ["clusters"],
            "verbs": ["use"],
            "resourceNames": ["ap", "us"],
        }
    ]
    assert binding["subjects"][0]["name"] == "pods.hanse.dev:eu"
    assert host_rights("eu", [], EU)[0]["rules"] == []
