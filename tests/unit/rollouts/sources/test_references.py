"""What charts and kustomizations may refer to: their own files, and nothing else."""

import json

import pytest

from hanse.rollouts.sources import SourceProblem
from hanse.rollouts.sources.helm import refuse_remote_schemas, shortened
from hanse.rollouts.sources.kustomize import refuse_remote


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a"},
        {"$id": "https://me.example/values", "properties": {"a": {"$ref": "https://me.example/values#/x"}}},
        {"properties": {"$ref": {"type": "string"}, "homepage": {"default": "https://x.example"}}},
    ],
)
def test_a_schema_that_refers_to_itself_is_taken(schema):
    refuse_remote_schemas({"values.schema.json": json.dumps(schema).encode()}, "chart web-1.0.0")


@pytest.mark.parametrize(
    "reference", ["http://10.0.0.1/x", "https://evil.example", "file:///etc/passwd", "other.json", "urn:x", "//host/x"]
)
@pytest.mark.parametrize("path", ["values.schema.json", "charts/db/values.schema.json"])
def test_a_schema_that_refers_to_anything_else_is_refused(path, reference):
    schema = {"properties": {"a": {"anyOf": [{"$ref": reference}]}}}
    with pytest.raises(SourceProblem) as caught:
        refuse_remote_schemas({path: json.dumps(schema).encode()}, "chart web-1.0.0")
    assert str(caught.value) == (
        f"{path} of chart web-1.0.0 refers to {reference!r}, which is not read; put it into the schema itself"
    )


def test_a_schema_of_an_unknown_language_is_refused():
    with pytest.raises(SourceProblem):
        refuse_remote_schemas({"values.schema.json": b'{"$schema": "http://10.0.0.1/meta"}'}, "chart web-1.0.0")


def kustomization(text, **files):
    return {"prod/kustomization.yaml": text.encode(), "base/kustomization.yml": b"resources: [web.yaml]", **files}


def test_a_kustomization_of_its_own_files_is_taken():
    text = """
resources: [../base, extra.yaml]
commonAnnotations: {docs: "https://wiki.example"}
transformers:
  - |
    apiVersion: builtin
    kind: PrefixTransformer
configMapGenerator: [{name: a, files: [extra.yaml], literals: ["url=https://x.example"]}]
"""
    tree = kustomization(text, **{"prod/extra.yaml": b"", "base/web.yaml": b""})
    refuse_remote(tree, "prod", "it")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("resources: [github.com/org/repo//deploy]", "github.com/org/repo//deploy"),
        ("resources: ['https://x.example/web.yaml']", "https://x.example/web.yaml"),
        ("resources: [../../../etc]", "../../../etc"),
        ("bases: ['git@github.com:org/repo']", "git@github.com:org/repo"),
        ("components: [missing]", "missing"),
        ("generators: ['ssh://x.example/repo']", "ssh://x.example/repo"),
        ("crds: ['https://x.example/crd.yaml']", "https://x.example/crd.yaml"),
        ("patches: [{path: 'https://x.example/p.yaml'}]", "https://x.example/p.yaml"),
        ("patchesStrategicMerge: ['http://10.0.0.1/p.yaml']", "http://10.0.0.1/p.yaml"),
        ("configMapGenerator: [{name: a, files: ['k=https://x.example/f']}]", "k=https://x.example/f"),
        ("secretGenerator: [{name: a, envs: ['https://x.example/f']}]", "https://x.example/f"),
        ("openapi: {path: 'https://x.example/schema'}", "https://x.example/schema"),
        ("helmCharts: [{name: web, repo: 'https://x.example'}]", "helmCharts"),
    ],
)
def test_a_kustomization_that_needs_anything_else_is_refused(text, named):
    with pytest.raises(SourceProblem) as caught:
        refuse_remote(kustomization(text, **{"base/web.yaml": b""}), "prod", "it")
    assert str(caught.value) == (
        f"prod/kustomization.yaml of it names {named!r}, which is not among its files; nothing is fetched"
    )


@pytest.mark.parametrize(("path", "place"), [("", "its top folder"), ("dev", "dev")])
def test_a_folder_without_a_kustomization_is_refused(path, place):
    with pytest.raises(SourceProblem, match=f"it has no kustomization.yaml in {place}"):
        refuse_remote(kustomization("{}"), path, "it")


@pytest.mark.parametrize(
    ("complaint", "told"),
    [
        ("warning\nError: no such thing\n\nUse --debug", "no such thing"),
        ("first\nlast\n", "last"),
        ("Error: a schema says:\nweb:\n- no image\n\nUse --debug flag", "a schema says: web: - no image"),
        ("error: accumulating /tmp/x/files: no\n", "accumulating files: no"),
        ("", ""),
        ("Error: " + "a" * 300 + "cause" * 100, "a" * 200 + " … " + "cause" * 40),
    ],
)
def test_a_complaint_is_told_in_one_short_line(complaint, told):
    assert shortened(complaint, "/tmp/x") == told
