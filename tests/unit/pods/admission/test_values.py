"""Annotations that cannot be meant, hostile ones among them."""

import pytest

from hanse.api.admiralty.keys import FOLLOW, GANG, LOST_AFTER, NO_PREFIX, PROXY_CONSTRAINTS
from hanse.pods.admission.constraints import read_constraints
from hanse.pods.admission.values import bad_value

BOMB = "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nnodeSelector: {d: *c}\n"
REFUSED = {
    "08 no YAML": (PROXY_CONSTRAINTS, "nodeSelector: {", "it must be YAML"),
    "08 an unknown field": (PROXY_CONSTRAINTS, "nodeselector: {a: b}", "nodeselector does not choose a cluster"),
    "08 an unknown field within": (
        PROXY_CONSTRAINTS,
        "tolerations: [{keys: a}]",
        "there is no field tolerations[0].keys",
    ),
    "08 a field that is no constraint": (PROXY_CONSTRAINTS, "hostNetwork: true", "hostNetwork does not choose"),
    "08 a wrong type": (PROXY_CONSTRAINTS, "nodeSelector: {a: 1}", "cannot unmarshal number"),
    "08 a truth where a text belongs": (PROXY_CONSTRAINTS, "nodeSelector: {a: yes}", "cannot unmarshal bool"),
    "08 a list": (PROXY_CONSTRAINTS, "[nodeSelector]", "it must be a mapping"),
    "08 a text": (PROXY_CONSTRAINTS, "eu", "it must be a mapping"),
    "08 two documents": (PROXY_CONSTRAINTS, "{}\n---\n{}", "it must be YAML"),
    "a key twice": (PROXY_CONSTRAINTS, "nodeSelector: {a: b, a: c}", "a is there twice"),
    "a key that is no text": (PROXY_CONSTRAINTS, "{1: {a: b}}", "a key must be a text"),
    "a bomb of anchors": (PROXY_CONSTRAINTS, BOMB, "it must not use anchors"),
    "an anchor that holds itself": (PROXY_CONSTRAINTS, "&a nodeSelector: *a", "it must not use anchors"),
    "an object of Python": (PROXY_CONSTRAINTS, "!!python/object/apply:os.system [id]", "it must not use tags"),
    "bytes": (PROXY_CONSTRAINTS, "nodeSelector: {a: !!binary eA==}", "it must not use tags"),
    "a tower": (PROXY_CONSTRAINTS, "affinity: " + "[" * 5000, "nested more than"),
    "a tower of maps": (PROXY_CONSTRAINTS, "{a: " * 1500 + "b" + "}" * 1500, "nested more than"),
    "a library": (PROXY_CONSTRAINTS, "nodeSelector: {a: " + "b" * 20000 + "}", "longer than 8 KiB"),
    "a number without end": (PROXY_CONSTRAINTS, "tolerations: [{tolerationSeconds: " + "9" * 7999 + "}]", "a number"),
    "an infinite number": (PROXY_CONSTRAINTS, "tolerations: [{tolerationSeconds: .inf}]", "cannot unmarshal"),
    "a character that is none": (PROXY_CONSTRAINTS, "nodeSelector: {a: '\ud800'}", "it must be YAML"),
    "a merge": (PROXY_CONSTRAINTS, "nodeSelector: {<<: {a: b}}", "it must be YAML"),
    "32 a pattern of others": (NO_PREFIX, "?!foo", "it must be a regular expression as RE2 has them"),
    "32 a pattern that looks ahead": (NO_PREFIX, "(?=a)", "it must be a regular expression as RE2 has them"),
    "32 a pattern that refers back": (NO_PREFIX, r"(a)\1", "it must be a regular expression as RE2 has them"),
    "32 a pattern without end": (NO_PREFIX, "a" * 1025, "not be longer than 1024"),
    "32 a pattern that grows": (
        NO_PREFIX,
        "((a{1000}){1000}){1000}",
        "it must be a regular expression as RE2 has them",
    ),
    "a gang of none": (GANG, "0", "it must be all or a number of pods"),
    "a gang of some": (GANG, "some", "it must be all or a number of pods"),
    "a gang in another script": (GANG, "٣", "it must be all or a number of pods"),
    "a gang of too many": (GANG, "9" * 50, "it must be all or a number of pods"),
    "what does not follow": (FOLLOW, "serviceaccounts,secrets", "'secrets' does not follow pods"),
    "a time before": (LOST_AFTER, "-1", "it must be never or a whole number of seconds"),
    "a time with a unit": (LOST_AFTER, "30s", "it must be never or a whole number of seconds"),
    "no time": (LOST_AFTER, "", "it must be never or a whole number of seconds"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
def test_a_value_that_cannot_be_meant_is_refused_by_the_annotation_s_name(case):
    key, text, says = case

    refusal = bad_value({key: text})

    assert refusal is not None
    assert refusal.field == f"metadata.annotations[{key}]"
    assert says in refusal.why


TAKEN = {
    "31 a pattern": (NO_PREFIX, "^a=d$"),
    "a pattern of any length of time": (NO_PREFIX, "(a*)*$"),
    "all": (GANG, "all"),
    "a gang of five": (GANG, "5"),
    "two followers": (FOLLOW, "serviceaccounts, persistentvolumeclaims"),
    "no follower": (FOLLOW, ""),
    "never": (LOST_AFTER, "never"),
    "at once": (LOST_AFTER, "0"),
    "an hour": (LOST_AFTER, "3600"),
    "nothing": (PROXY_CONSTRAINTS, ""),
    "a comment": (PROXY_CONSTRAINTS, "# nothing yet"),
}


@pytest.mark.parametrize("case", TAKEN.values(), ids=list(TAKEN))
def test_a_value_that_can_be_meant_is_taken(case):
    key, text = case

    assert bad_value({key: text}) is None


def test_constraints_are_read_as_a_pod_s_spec_is():
    text = """
nodeSelector: {region: eu, since: "2026-01-01", 'on': "yes"}
tolerations: [{key: price, operator: Equal, value: high, effect: NoSchedule}]
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 10
      preference: {matchExpressions: [{key: cloud, operator: NotIn, values: ["true"]}]}
topologySpreadConstraints: null
"""
    found = read_constraints(text)

    assert found["nodeSelector"] == {"region": "eu", "since": "2026-01-01", "on": "yes"}
    assert found["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["weight"] == 10
    assert list(found) == ["nodeSelector", "tolerations", "affinity"]


def test_a_date_is_a_text():
    assert read_constraints("nodeSelector: {since: 2026-01-01}") == {"nodeSelector": {"since": "2026-01-01"}}
