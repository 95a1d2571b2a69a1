"""`hanse plan` on files that no API server would take: one sentence that names the field, never a traceback."""

import pytest
from click.testing import CliRunner

from hanse.cli.plan import command as plan

FLEET = "apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: {name: eu}\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (f"{DEPLOYMENT}spec: {{replicas: [3]}}", "spec.replicas"),
        (f"{DEPLOYMENT}spec: {{template: 7}}", "spec.template"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [80]}", "spec.ports"),
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: true", "spec"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: [b]}", "metadata.namespace"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {a: 1}}", "metadata.annotations"),
        ("apiVersion: 1\nkind: ConfigMap\nmetadata: {name: a}", "apiVersion: it must be a text"),
        (
            "apiVersion: types.kubefed.io/v1beta1\nkind: FederatedSecret\nmetadata: {name: a}\nspec: {placement: 7}",
            "spec.placement",
        ),
        ("apiVersion: planetscale.com/v2\nkind: VitessCluster\nmetadata: {name: a}\nspec: {cells: {}}", "spec.cells"),
        ("apiVersion: v1\nkind: List\nitems: {a: b}", "items of a list must be a list"),
        (f"{DEPLOYMENT}spec: {{replicas: {'9' * 400}}}", "holds a number that is larger than any that can be read"),
        (f"{DEPLOYMENT}spec: {'[' * 100_000}", "is nested more than 200 deep"),
        ("a: &a [x]\nb: &b [*a,*a]\n" + "".join(f"{n}: &{n} [*b,*b]\n" for n in "cd"), "is no Kubernetes object"),
    ],
)
def test_a_manifest_of_a_wrong_form_is_refused_in_one_sentence(tmp_path, written, sentence):
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "x.yaml").write_text(written)
    result = CliRunner().invoke(plan, ["-f", str(tmp_path / "x.yaml"), "--clusters", str(tmp_path / "fleet.yaml")])
    assert (result.exit_code, sentence in result.output) == (2, True), result.output


def test_a_file_that_is_no_text_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"kind: \xff")
    result = CliRunner().invoke(plan, ["-f", str(tmp_path / "x.yaml")])
    assert (result.exit_code, "it is not UTF-8" in result.output) == (2, True), result.output
