"""Label and field selectors, with the sentences that a kube-apiserver answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.kube.selectors import FieldSelector, LabelSelector, label_value_problems, qualified_name_problems

LABELS = {"app": "web", "tier": "front", "version": "3", "example.com/team": "blue"}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app!=web", False),
        ("app!=api", True),
        ("missing!=x", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("app in (web,api)", True),
        ("app in (api)", False),
        ("app notin (api,db)", True),
        ("missing notin (api)", True),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        (" app = web , tier in ( front , back ) ", True),
        ("example.com/team=blue", True),
        ("version>2", True),
        ("version<3", False),
        ("tier>2", False),
        ("empty=", False),
        ("app in (web,,x)", True),
    ],
)
def test_a_selector_matches_as_kubectl_says(text, selected):
    assert LabelSelector.parse(text).matches(LABELS) is selected


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("app in web", "unable to parse requirement: found 'web' expected: '('"),
        ("app=web,", "found '', expected: identifier after ','"),
        ("=web", "found '=', expected: !, identifier, or 'end of string'"),
        ("app web", "unable to parse requirement: found 'web', expected: in, notin, =, ==, !=, gt, lt"),
        ("app=(", "unable to parse requirement: found '(', expected: identifier"),
        ("app in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"),
        ("!app=web", "found '=', expected: ',' or 'end of string'"),
        (
            "version>x",
            (
                'unable to parse requirement: values[0]: Invalid value: "x": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
    ],
)
def test_a_malformed_selector_is_refused_with_the_servers_sentence(text, refusal):
    with pytest.raises(ValueError, match=r".") as refused:
        LabelSelector.parse(text)
    assert refusal == str(refused.value)


def test_a_key_that_is_no_label_is_refused_with_the_rule():
    with pytest.raises(ValueError, match="unable to parse requirement: <nil>: Invalid value") as refused:
        LabelSelector.parse("-bad=x")
    assert "name part must consist of alphanumeric characters" in str(refused.value)


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        (None, False),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "api"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
    ],
)
def test_the_object_form_selects_nothing_when_absent_and_everything_when_empty(selector, selected):
    assert LabelSelector.from_object(selector).matches(LABELS) is selected


@pytest.mark.parametrize(
    ("selector", "refusal"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, '"Near" is not a valid label selector operator'),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_an_unusable_expression_is_refused(selector, refusal):
    with pytest.raises(ValueError, match=r".") as refused:
        LabelSelector.from_object(selector)
    assert refusal == str(refused.value)


_keys = st.sampled_from(["app", "tier", "example.com/team"])
_values = st.sampled_from(["", "a", "web", "x.y-z"])
_terms = st.one_of(
    _keys,
    _keys.map("!{}".format),
    st.builds("{}={}".format, _keys, _values),
    st.builds("{}!={}".format, _keys, _values),
    st.builds(lambda key, values: f"{key} in ({','.join(values)})", _keys, st.lists(_values, min_size=1)),
)


@given(st.lists(_terms).map(",".join), st.dictionaries(_keys, _values))
def test_a_selector_written_out_and_read_again_selects_the_same(text, labels):
    selector = LabelSelector.parse(text)
    again = LabelSelector.parse(str(selector))
    assert (selector.matches(labels), str(selector)) == (again.matches(labels), str(again))


FIELDS = {"metadata.name": "web", "spec.nodeName": "n1", "odd": "a,b=c\\"}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name==web", True),
        ("metadata.name!=web", False),
        ("metadata.name=web,spec.nodeName=n1", True),
        ("metadata.name=web,spec.nodeName!=n1", False),
        (r"odd=a\,b\=c\\", True),
        ("=", True),
    ],
)
def test_a_field_selector_compares_texts(text, selected):
    assert FieldSelector.parse(text).matches(lambda field: FIELDS.get(field, "")) is selected


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_malformed_field_selector_is_refused(text, refusal):
    with pytest.raises(ValueError, match=r".") as refused:
        FieldSelector.parse(text)
    assert refusal == str(refused.value)


def test_a_field_selector_tells_the_one_value_that_a_field_must_have():
    selector = FieldSelector.parse("metadata.name=web,spec.x!=y")
    assert [selector.exact("metadata.name"), selector.exact("spec.x")] == ["web", None]


@pytest.mark.parametrize(
    ("key", "right"), [("app", True), ("example.com/app", True), ("/app", False), ("a/b/c", False), ("x" * 64, False)]
)
def test_keys_of_labels_are_checked(key, right):
    assert (qualified_name_problems(key) == []) is right


@pytest.mark.parametrize(("value", "right"), [("", True), ("a.b", True), ("-a", False), ("x" * 64, False)])
def test_values_of_labels_are_checked(value, right):
    assert (label_value_problems(value) == []) is right
