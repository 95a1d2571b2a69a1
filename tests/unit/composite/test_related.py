"""Which related objects a customize hook's rules mean: the table of the fact sheet, row by row."""

import pytest

from hanse.composite.related import RelatedRule, matches, read_rules
from hanse.composite.spec import EVERYTHING, KindRef, Version
from hanse.kube.selectors import LabelSelector

SECRETS, NODES = KindRef("v1", "secrets"), KindRef("v1", "nodes")
BOTH = {"names": ["a"], "labelSelector": {}}
IN_NAMESPACE, WITHOUT = "ns", ""


def namespaced(kind: KindRef) -> bool:
    return kind != NODES


def read(rule, parent_namespace, version, kind=SECRETS):
    return read_rules(
        [{"apiVersion": kind.api_version, "resource": kind.resource, **rule}], parent_namespace, version, namespaced
    )


LABELS, TEAM = {"matchLabels": {"app": "web"}}, {"matchLabels": {"team": "a"}}
EITHER_NAMES = "relatedResources[0]: give either names or selectors, and not both"
EITHER_NAMESPACE = "relatedResources[0]: give either namespace or namespaceSelector, and not both"
NOT_IN_NAMESPACES = "relatedResources[0]: namespaceSelector is only for kinds that are in namespaces; leave it out"
NOT_UNDER_V1 = (
    "relatedResources[0]: namespaceSelector is not for parents in a namespace under v1; use version: v2 for the hook"
)
NOT_THE_PARENTS = (
    "relatedResources[0]: namespace other is not the parent's, which is ns; use version: v2 for the hook, "
    "under which parents see every namespace"
)


@pytest.mark.parametrize("version", list(Version))
@pytest.mark.parametrize("parent", [IN_NAMESPACE, WITHOUT])
@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"names": ["a"], "labelSelector": LABELS}, EITHER_NAMES),
        ({"names": ["a"], "labelSelector": {}}, EITHER_NAMES),
        ({"names": ["a"], "namespaceSelector": TEAM}, EITHER_NAMES),
        ({"namespace": "ns", "namespaceSelector": TEAM}, EITHER_NAMESPACE),
    ],
)
def test_41_parts_of_a_rule_that_exclude_each_other_are_refused(rule, told, parent, version):
    assert read(rule, parent, version) == told


@pytest.mark.parametrize(
    ("rule", "parent", "version", "kind", "told"),
    [
        ({"namespaceSelector": TEAM}, WITHOUT, Version.V1, NODES, NOT_IN_NAMESPACES),
        ({"namespaceSelector": TEAM}, IN_NAMESPACE, Version.V2, NODES, NOT_IN_NAMESPACES),
        ({"namespaceSelector": TEAM}, IN_NAMESPACE, Version.V1, SECRETS, NOT_UNDER_V1),
        ({"namespace": "other"}, IN_NAMESPACE, Version.V1, SECRETS, NOT_THE_PARENTS),
        ({"namespace": "other", "names": ["a"]}, IN_NAMESPACE, Version.V1, SECRETS, NOT_THE_PARENTS),
        ({"namespace": "other", "labelSelector": LABELS}, IN_NAMESPACE, Version.V1, SECRETS, NOT_THE_PARENTS),
    ],
)
def test_41_what_a_parent_may_not_see_is_refused_with_the_way_out(rule, parent, version, kind, told):
    assert read(rule, parent, version, kind) == told


@pytest.mark.parametrize("parent", [IN_NAMESPACE, WITHOUT])
@pytest.mark.parametrize("field", ["labelSelector", "namespaceSelector"])
def test_a_selector_that_cannot_be_read_is_refused_in_the_servers_words(parent, field):
    broken = {field: {"matchExpressions": [{"key": "a", "operator": "Is"}]}}

    assert read(broken, parent, Version.V2) == 'relatedResources[0]: "Is" is not a valid label selector operator'


def test_the_rule_that_is_wrong_is_named_by_its_place():
    rules = [{"apiVersion": "v1", "resource": "secrets"}, {"apiVersion": "v1", "resource": "secrets", **BOTH}]

    assert read_rules(rules, WITHOUT, Version.V2, namespaced) == EITHER_NAMES.replace("[0]", "[1]")


WEB = LabelSelector.parse("app=web")


@pytest.mark.parametrize(
    ("rule", "parent", "version", "kind", "meant"),
    [
        ({}, WITHOUT, Version.V1, SECRETS, RelatedRule(SECRETS)),
        ({}, IN_NAMESPACE, Version.V1, SECRETS, RelatedRule(SECRETS, namespace="ns")),
        ({}, IN_NAMESPACE, Version.V2, SECRETS, RelatedRule(SECRETS)),
        ({}, IN_NAMESPACE, Version.V1, NODES, RelatedRule(NODES)),
        ({"labelSelector": {}}, WITHOUT, Version.V2, SECRETS, RelatedRule(SECRETS)),
        ({"labelSelector": LABELS}, IN_NAMESPACE, Version.V1, SECRETS, RelatedRule(SECRETS, WEB, "ns")),
        ({"labelSelector": LABELS}, IN_NAMESPACE, Version.V2, SECRETS, RelatedRule(SECRETS, WEB)),
        (
            {"names": ["a"]},
            IN_NAMESPACE,
            Version.V1,
            SECRETS,
            RelatedRule(SECRETS, namespace="ns", names=frozenset("a")),
        ),
        ({"names": ["a"]}, IN_NAMESPACE, Version.V2, SECRETS, RelatedRule(SECRETS, names=frozenset("a"))),
        ({"namespace": "ns"}, IN_NAMESPACE, Version.V1, SECRETS, RelatedRule(SECRETS, namespace="ns")),
        ({"namespace": "other"}, IN_NAMESPACE, Version.V2, SECRETS, RelatedRule(SECRETS, namespace="other")),
        ({"namespace": "other"}, WITHOUT, Version.V1, SECRETS, RelatedRule(SECRETS, namespace="other")),
        ({"namespace": "other"}, IN_NAMESPACE, Version.V2, NODES, RelatedRule(NODES)),
        (
            {"namespace": "other", "labelSelector": LABELS},
            IN_NAMESPACE,
            Version.V2,
            SECRETS,
            RelatedRule(SECRETS, WEB, "other"),
        ),
        (
            {"namespaceSelector": TEAM, "labelSelector": LABELS},
            IN_NAMESPACE,
            Version.V2,
            SECRETS,
            RelatedRule(SECRETS, WEB, namespaces=LabelSelector.parse("team=a")),
        ),
        ({"namespaceSelector": {}}, WITHOUT, Version.V1, SECRETS, RelatedRule(SECRETS, namespaces=EVERYTHING)),
    ],
)
def test_a_rule_means_what_the_table_says(rule, parent, version, kind, meant):
    assert read(rule, parent, version, kind) == (meant,)


OBJECT = {"metadata": {"name": "a", "namespace": "ns", "labels": {"app": "web"}}}
NODE = {"metadata": {"name": "node-1"}}


@pytest.mark.parametrize(
    ("rule", "obj", "namespace_labels", "matched"),
    [
        (RelatedRule(SECRETS), OBJECT, {}, True),
        (RelatedRule(NODES), NODE, None, True),
        (RelatedRule(SECRETS, WEB), OBJECT, {}, True),
        (RelatedRule(SECRETS, LabelSelector.parse("app=db")), OBJECT, {}, False),
        (RelatedRule(NODES, WEB), NODE, None, False),
        (RelatedRule(SECRETS, namespace="ns"), OBJECT, {}, True),
        (RelatedRule(SECRETS, namespace="other"), OBJECT, {}, False),
        (RelatedRule(SECRETS, names=frozenset({"a", "b"})), OBJECT, {}, True),
        (RelatedRule(SECRETS, names=frozenset({"b"})), OBJECT, {}, False),
        (RelatedRule(SECRETS, namespace="other", names=frozenset({"a"})), OBJECT, {}, False),
        (RelatedRule(SECRETS, namespaces=LabelSelector.parse("team=a")), OBJECT, {"team": "a"}, True),
        (RelatedRule(SECRETS, namespaces=LabelSelector.parse("team=a")), OBJECT, {"team": "b"}, False),
        (RelatedRule(SECRETS, namespaces=EVERYTHING), OBJECT, None, False),
        (RelatedRule(SECRETS, LabelSelector.parse("app=db"), namespaces=EVERYTHING), OBJECT, {}, False),
    ],
)
def test_an_object_matches_where_every_part_of_the_rule_holds(rule, obj, namespace_labels, matched):
    assert matches(rule, obj, namespace_labels) is matched
