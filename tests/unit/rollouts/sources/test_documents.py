"""Manifests out of text, as Kubernetes' own tools read them."""

import pytest

from hanse.rollouts.sources import SourceProblem
from hanse.rollouts.sources.documents import read_documents, read_mapping
from hanse.rollouts.sources.ordering import install_order

HEAD = "apiVersion: v1\nkind: ConfigMap\n"


def value_of(text):
    return read_documents(f"{HEAD}value: {text}\n", "file")[0]["value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        ("12:30", "12:30"),
        ("1.2.3", "1.2.3"),
        ("1e3", 1000),
        ("1.0", 1),
        ("1.5", 1.5),
        ("-.5e1", -5),
        ("0777", 511),
        ("0o17", 15),
        ("0x1F", 31),
        ("08", 8),
        ("1_000", 1000),
        ("-3", -3),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("", None),
        ("'yes'", "yes"),
        ("=", "="),
        ("6e5d", "6e5d"),
        ("99999999999999999999999", 1e23),
        ("!!binary aGVsbG8=", "hello"),
        ("{2: a, true: b, null: c}", {"2": "a", "true": "b", "null": "c"}),
        ("[&a {x: 1}, *a]", [{"x": 1}, {"x": 1}]),
    ],
)
def test_scalars_are_what_kubernetes_takes_them_for(text, value):
    read = value_of(text)
    assert (read, type(read)) == (value, type(value))


def test_documents_are_read_one_by_one_and_empty_ones_are_passed_over():
    text = f"---\n{HEAD}---\n# nothing\n---\n{HEAD}...\n"
    assert len(read_documents(text, "file")) == 2


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("--- {apiVersion: v1, kind: A}\n---\n{apiVersion: v1, kind: B}", ["A", "B"]),
        ('{"apiVersion": "v1", "kind": "A"}\n---\n{"apiVersion":\t"v1", "kind": "B"}', ["A", "B"]),
        ("%YAML 1.1\n---\napiVersion: v1\nkind: A\n...\n%YAML 1.1\n---\napiVersion: v1\nkind: B\n", ["A", "B"]),
        ("apiVersion: v1\nkind: A\ntext: |\n  ---\n  x\nother: '\n  --- '\n", ["A"]),
        ("apiVersion: v1\nkind: A\n---x: 1\n", ["A"]),
        ("apiVersion: v1\r\nkind: A\r\n---\r\napiVersion: v1\r\nkind: B\r\n", ["A", "B"]),
        ("\ufeffapiVersion: v1\nkind: A\n", ["A"]),
    ],
)
def test_documents_end_where_yaml_says(text, values):
    assert [obj["kind"] for obj in read_documents(text, "file")] == values


def test_a_mistake_is_found_in_its_line_of_the_whole_text():
    with pytest.raises(SourceProblem, match=r"file is not valid YAML \(line 5\)"):
        read_documents(f"{HEAD}---\n{HEAD}a: [}}\n".replace("kind: ConfigMap\na", "a"), "file")


def test_json_is_read_even_where_yaml_would_not():
    assert read_documents('{"apiVersion":\t"v1",\t"kind": "Pod"}', "file") == [{"apiVersion": "v1", "kind": "Pod"}]


def test_yaml_that_begins_like_json_is_read():
    assert read_documents("{apiVersion: v1, kind: Pod}", "file") == [{"apiVersion": "v1", "kind": "Pod"}]


def test_lists_are_unpacked_and_items_of_typed_ones_get_their_kind():
    text = f"""
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMapList
    items: [{{metadata: {{name: a}}}}]
  - {{apiVersion: apps/v1, kind: Deployment}}
---
{HEAD}"""
    kinds = [(obj["apiVersion"], obj["kind"]) for obj in read_documents(text, "file")]
    assert kinds == [("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("v1", "ConfigMap")]


BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + step)}: &{chr(98 + step)} [{','.join([f'*{chr(97 + step)}'] * 10)}]\n" for step in range(7)
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "file is not valid YAML (line 1)"),
        ("\tkey: x", "file is not valid YAML (line 1)"),
        ("- 1", "file holds a document that is no manifest"),
        ("kind: Pod", "file: every manifest needs apiVersion and kind"),
        ("apiVersion: v1\nkind: 3", "file: every manifest needs apiVersion and kind"),
        (f"{HEAD}a: !!set {{x}}", "file holds a value that no manifest can have"),
        (f"{HEAD}a: !!python/object:os.system x", "file is not valid YAML (line 3)"),
        (BOMB, "file unfolds into more than can be read; use fewer aliases"),
        ("a: &a [*a]", "file unfolds into more than can be read; use fewer aliases"),
        (f"{HEAD}a: {'[' * 400}{']' * 400}", "file is nested more than 200 deep; that is not read"),
        (f'{{"a": {"[" * 400}{"]" * 400}}}', "file is nested more than 200 deep; that is not read"),
        ("[" * 1200, "file is nested more than 200 deep; that is not read"),
        # So deep that a reader which calls itself for every level would end the process.
        ("- " * 100_000, "file is nested more than 200 deep; that is not read"),
        (f"{HEAD}a: {'9' * 400}", "file holds a number that is larger than any that can be read"),
        (f"{HEAD}a: {'9' * 5000}", "file is not valid YAML"),
        (f"{HEAD}a: !!timestamp x", "file is not valid YAML"),
        (f"{HEAD}a: !!bool x", "file is not valid YAML"),
        (f"{HEAD}a: !!float ''", "file is not valid YAML"),
    ],
)
def test_what_is_no_manifest_is_refused_with_one_sentence(text, sentence):
    with pytest.raises(SourceProblem) as caught:
        read_documents(text, "file")
    assert (caught.value.reason, str(caught.value)) == ("ChartError", sentence)


@pytest.mark.parametrize("text", ["", "a: 1\n---\nb: 2", "[1]"])
def test_a_file_of_one_mapping_holds_exactly_that(text):
    with pytest.raises(SourceProblem, match="file does not hold one mapping"):
        read_mapping(text, "file")


def test_kinds_are_installed_as_helm_does_and_unknown_ones_last():
    kinds = ["Zebra", "Ingress", "Deployment", "Service", "Ant", "ConfigMap", "ServiceAccount", "Namespace"]
    ordered = install_order([{"kind": kind} for kind in kinds])
    assert [obj["kind"] for obj in ordered] == [
        "Namespace",
        "ServiceAccount",
        "ConfigMap",
        "Service",
        "Deployment",
        "Ingress",
        "Ant",
        "Zebra",
    ]


def test_objects_of_one_kind_keep_their_order():
    given = [{"kind": "Secret", "name": name} for name in "cab"]
    assert install_order(given) == given
