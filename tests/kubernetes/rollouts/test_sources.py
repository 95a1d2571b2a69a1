"""Charts and kustomizations by the real Helm and kubectl: the same as by hand, and every error in one sentence."""

import base64
import subprocess

import orjson
import pytest
import yaml

from hanse.rollouts.environment import Chart, Environment, Files
from hanse.rollouts.sources import Limits, ManifestSources, SourceProblem, SourceSettings
from hanse.rollouts.sources.settings import MEGABYTE
from tests.component.apiserver.real_tools import built
from tests.component.rollouts.sources.stores import (
    RegistryStub,
    Store,
    chart_files,
    host_client,
    packed,
    packed_chart,
    put_configmap,
    served,
)
from tests.kubernetes.real.components import find_kubectl
from tests.rollout_charts.packing import FOLDER, SHAPES, texts
from tests.rollout_charts.packing import packed as packed_shape

pytestmark = pytest.mark.timeout(120)

HELM = built("helm", "helm")
RELEASE = "web-1a2b-0"


def settings(**changed):
    return SourceSettings(helm=HELM, kubectl=str(find_kubectl()), **changed)


def charted(url, name="web", version="", **fields):
    return Environment(raw={}, chart=Chart(name, version, url), **fields)


async def rendered(environment, host=None, **changed):
    async with ManifestSources(host or await host_client(), settings(**changed)) as sources:
        return await sources.render(environment, release=RELEASE, namespace="shop")


async def problem_of(environment, **changed):
    with pytest.raises(SourceProblem) as caught:
        await rendered(environment, **changed)
    return caught.value.reason, str(caught.value)


def by_hand(*arguments):
    """What the command prints when a person types it, hooks of tests left out."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return [manifest for manifest in yaml.safe_load_all(done.stdout) if manifest]


def as_set(manifests):
    return sorted(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS) for manifest in manifests)


@pytest.fixture
async def store():
    async with served(Store()) as store:
        yield store


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_chart_renders_as_helm_renders_it_by_hand(store, tmp_path, shape):
    store.add(packed_shape(shape), shape, "0.0.1")
    values = {"replicaCount": 5}
    (tmp_path / "values.json").write_bytes(orjson.dumps(values))
    typed = by_hand(
        *(HELM, "template", RELEASE, str(FOLDER / shape), "--namespace=shop", "--include-crds", "--skip-tests"),
        *(f"--values={tmp_path / 'values.json'}", "--kube-version=1.34.0"),
    )
    manifests = await rendered(charted(store.url, shape, values=values))
    assert as_set(manifests) == as_set(typed)


async def test_every_source_of_a_chart_gives_the_same(store, tmp_path):
    archive = packed_chart()
    store.add(archive)
    host = await host_client()
    (tmp_path / "web-0.1.0.tgz").write_bytes(archive)
    await put_configmap(host, "web", binaryData={"chart.tgz": base64.b64encode(archive).decode()})
    async with served(RegistryStub()) as stub:
        stub.push("charts/web", "0.1.0", archive)
        urls = [store.url, f"oci://{stub.host}/charts", "file:///", "configmap://web"]
        async with ManifestSources(host, settings(folder=tmp_path)) as sources:
            found = [await sources.render(charted(url), release=RELEASE, namespace="default") for url in urls]
    assert found[0][1]["metadata"]["name"] == f"{RELEASE}-web"
    assert found == [found[0]] * 4


async def test_a_kustomization_builds_as_kubectl_builds_it_by_hand():
    host = await host_client()
    await put_configmap(host, "web", data=texts("nginx-kustomization"))
    environment = Environment(raw={}, files=Files("kustomization", "configmap://web"))
    async with ManifestSources(host, settings()) as sources:
        manifests = await sources.render(environment, release=RELEASE, namespace="default")
    typed = by_hand(str(find_kubectl()), "kustomize", str(FOLDER / "nginx-kustomization"))
    assert as_set(manifests) == as_set(typed)


async def test_an_overlay_over_a_base_is_built(tmp_path):
    base = {"kustomization.yaml": "resources: [config.yaml]", "config.yaml": CONFIG}
    overlay = {"kustomization.yaml": "resources: [../../base]\nnamePrefix: prod-"}
    for folder, files in (("base", base), ("overlays/prod", overlay)):
        (tmp_path / "web" / folder).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / "web" / folder / name).write_text(text)
    environment = Environment(raw={}, files=Files("kustomization", "file:///web", "overlays/prod"))
    (manifest,) = await rendered(environment, folder=tmp_path)
    assert manifest["metadata"]["name"] == "prod-settings"


async def test_a_kustomization_that_cannot_be_built_is_said_in_one_sentence(tmp_path):
    (tmp_path / "kustomization.yaml").write_text("resources: [config.yaml]\npatches: [{path: absent.yaml}]")
    (tmp_path / "config.yaml").write_text(CONFIG)
    reason, said = await problem_of(Environment(raw={}, files=Files("kustomization", "file:///")), folder=tmp_path)
    assert (reason, said.startswith("file:/// cannot be built: ")) == ("ChartError", True)
    assert "path(absent.yaml)" in said
    assert "/tmp/" not in said


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
LOOKUP = (
    "data: {found: {{ lookup `v1` `Secret` `` `` | toJson | quote }}, host: {{ getHostByName `localhost` | quote }}}"
)
WHERE = (
    "data: {version: {{ .Capabilities.KubeVersion.Version | quote }}, file: {{ .Files.Get `../values.json` | quote }}}"
)


async def test_a_chart_sees_neither_cluster_nor_network_nor_files(store):
    store.add(packed_chart(files={"templates/a.yaml": f"{CONFIG}{LOOKUP}\n"}))
    assert (await rendered(charted(store.url)))[0]["data"] == {"found": "{}", "host": ""}
    store.add(packed_chart(files={"templates/a.yaml": f"{CONFIG}{WHERE}\n"}), version="0.2.0")
    assert (await rendered(charted(store.url)))[0]["data"] == {"version": "v1.34.0", "file": ""}


async def test_hooks_and_definitions_are_there_and_tests_are_not(store):
    def hook(name, event):
        return CONFIG.replace("settings", f"{name}, annotations: {{helm.sh/hook: {event}}}")

    files = {
        "templates/a.yaml": hook("before", "pre-install"),
        "templates/b.yaml": hook("probe", "test"),
        "crds/c.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\n",
    }
    store.add(packed_chart(files=files))
    names = [manifest["metadata"]["name"] for manifest in await rendered(charted(store.url))]
    assert names == ["before", "a.b.c", "web", f"{RELEASE}-web"]


async def test_five_megabytes_of_values_are_rendered_where_the_limit_allows_and_said_where_not(store):
    store.add(packed_chart(files={"templates/a.yaml": CONFIG + "data: {size: {{ len .Values.text | quote }}}\n"}))
    large = charted(store.url, values={"text": "x" * 5 * MEGABYTE})
    assert (await rendered(large, limits=Limits(values_bytes=6 * MEGABYTE)))[0]["data"] == {"size": str(5 * MEGABYTE)}
    reason, said = await problem_of(large)
    assert reason == "BrokenChartSpec"
    assert said.startswith("the values for chart web-0.1.0 are 5.0 MB and must not be more than 3 MB; put large texts")


TEMPLATES = {
    "looping": "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}",
    "greedy": '{{ repeat 4000000000 "x" }}',
    "swollen": '{{ range until 30000 }}# {{ repeat 500 "x" }}\n{{ end }}',
    "nil": "{{ .Values.no.such.thing }}",
    "asked": '{{ fail "replicaCount must be odd" }}',
    "syntax": "{{ if }}",
    "nested": '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}',
    "yaml": "a: [",
    "shapeless": "kind: ConfigMap",
    "curious": '{{ env "HOME" }}',
}


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("looping", "rendering chart web-0.1.0 was stopped: it took longer than 2 s"),
        ("greedy", "rendering chart web-0.1.0 was stopped: it used more than 512 MB of memory"),
        ("swollen", "rendering chart web-0.1.0 was stopped: it writes more than 8 MB"),
        ("nil", "chart web-0.1.0 cannot be rendered: template: web/templates/a.yaml:1:10: executing"),
        (
            "asked",
            "chart web-0.1.0 cannot be rendered: execution error at (web/templates/a.yaml:1:3): replicaCount must",
        ),
        ("syntax", "chart web-0.1.0 cannot be rendered: parse error at (web/templates/a.yaml:1): missing value for if"),
        ("nested", "rendering template has a nested reference name: a"),
        ("yaml", "chart web-0.1.0 cannot be rendered: YAML parse error on web/templates/a.yaml: error converting YAML"),
        ("shapeless", "what chart web-0.1.0 renders: every manifest needs apiVersion and kind"),
        ("curious", 'function "env" not defined'),
    ],
)
async def test_a_template_that_gives_nothing_is_said_in_one_sentence(store, template, sentence):
    store.add(packed_chart(files={"templates/a.yaml": TEMPLATES[template]}))
    limits = Limits(render_seconds=2.0) if template == "looping" else Limits()
    reason, said = await problem_of(charted(store.url), limits=limits)
    assert (reason, sentence in said) == ("ChartError", True), said
    assert len(said) < 600
    assert "\n" not in said


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\ntype: library\n"}, "library charts are not"),
        ({"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\nkubeVersion: '>=9'\n"}, "kubeVersion: >=9"),
        (
            {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies: [{name: db, version: 1.0.0}]\n"},
            "missing in charts/ directory: db",
        ),
        ({"Chart.yaml": "nothing: here\n"}, "chart.metadata.name is required"),
        ({"values.schema.json": '{"required": ["image"]}'}, "missing property 'image'"),
    ],
)
async def test_a_chart_that_helm_does_not_take_is_said_in_one_sentence(store, files, sentence):
    store.add(packed_chart(files=files))
    reason, said = await problem_of(charted(store.url))
    assert (reason, sentence in said) == ("ChartError", True), said


async def test_charts_that_a_chart_brings_along_just_work(store):
    inner = chart_files("db", "1.0.0")
    facts = "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies: [{name: db, version: 1.0.0, alias: store}]\n"
    inner["templates/deployment.yaml"] = CONFIG.replace("settings", "{{ .Chart.Name }}-{{ .Values.size }}")
    del inner["templates/service.yaml"]
    archive = packed({f"db/{path}": content for path, content in inner.items()})
    store.add(packed_chart(files={"Chart.yaml": facts, "charts/db-1.0.0.tgz": archive}))
    manifests = await rendered(charted(store.url, values={"store": {"size": "large"}}))
    assert manifests[0]["metadata"]["name"] == "store-large"
