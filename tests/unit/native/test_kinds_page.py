"""What docs/reference/kinds.md shows is what happens."""

from pathlib import Path

import yaml

from hanse.api.federated_kinds import COMBINATIONS, FEDERATED_KIND_CRD, parse_federated_kind
from hanse.cli.kinds_file import read_teachings
from hanse.kube.schemas.crds import schema_from_crd
from hanse.kube.schemas.validation import validate
from hanse.native.kinds import DEFAULT_KINDS
from hanse.propagation.teaching import learn

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "kinds.md").read_text()


def test_every_default_kind_is_on_the_page():
    table = PAGE.partition("## More kinds")[0]

    assert [kind.kind for kind in DEFAULT_KINDS if kind.kind not in table] == []


def test_the_example_reads_as_the_page_says():
    example = yaml.safe_load(PAGE.partition("```yaml\n")[2].partition("```")[0])
    schema = schema_from_crd(FEDERATED_KIND_CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"])

    kind = parse_federated_kind(example)

    assert validate(schema, example) == []
    assert kind.resource.group_resource == "widgets.example.com"
    assert kind.scale.available == ("status", "up")
    assert learn(kind).problems == ()
    assert {field.combine for field in kind.status} <= set(COMBINATIONS)


def test_the_file_on_the_page_teaches_what_it_says(tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text(PAGE.partition("```python\n")[2].partition("```")[0])

    (teaching,) = read_teachings([path])

    assert teaching.kind == "widgets.example.com"
    assert teaching.healthy({"status": {"phase": "Broken"}}) == "it is Broken"
    assert teaching.ready({"status": {"members": ["x", "y"]}}) == 2
    assert teaching.status([{"status": {"members": ["x"]}}, {"status": {"members": ["y"]}}]) == {"members": ["x", "y"]}
