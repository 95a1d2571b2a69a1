"""Every source behind one interface, as far as no other program is needed."""

import base64

import pytest

from hanse.rollouts.environment import Chart, Environment, Files
from hanse.rollouts.sources import Limits, ManifestSources, SourceProblem, SourceSettings
from tests.component.rollouts.sources.stores import (
    Store,
    chart_files,
    host_client,
    packed,
    packed_chart,
    put_configmap,
    served,
)

pytestmark = pytest.mark.timeout(60)

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
WORKLOAD = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"


@pytest.fixture
async def host():
    return await host_client()


def charted(url, version="", name="web", **fields):
    return Environment(raw={}, chart=Chart(name, version, url), **fields)


def filed(location, path="", kind="manifests", **fields):
    return Environment(raw={}, files=Files(kind, location, path), **fields)


async def rendered(host, environment, **settings):
    async with ManifestSources(host, SourceSettings(**settings)) as sources:
        manifests = await sources.render(environment, release="web-1-0", namespace="default")
    return [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]


async def resolved(host, environment, **settings):
    async with ManifestSources(host, SourceSettings(**settings)) as sources:
        return await sources.resolve(environment, "default")


async def problem_of(awaitable):
    with pytest.raises(SourceProblem) as caught:
        await awaitable
    return caught.value.reason, str(caught.value)


def encoded(archive):
    return base64.b64encode(archive).decode()


async def test_plain_manifests_of_a_configmap_are_read_in_helms_order(host):
    data = {"web.yaml": WORKLOAD, "config.yml": CONFIG, "more.json": '{"apiVersion": "v1", "kind": "Secret", '}
    data["more.json"] += '"metadata": {"name": "token"}}'
    await put_configmap(host, "web", data={**data, "README.md": "not a manifest", ".hidden.yaml": "neither"})
    assert await rendered(host, filed("configmap://web")) == [
        ("Secret", "token"),
        ("ConfigMap", "settings"),
        ("Deployment", "web"),
    ]
    assert await resolved(host, filed("configmap://web")) == ""


async def test_a_packed_folder_in_a_configmap_is_read_from_a_path_of_it(host):
    files = {"compiled/web/a.yml": WORKLOAD, "compiled/web/deep/b.yml": CONFIG, "compiled/other/c.yml": "no: manifest"}
    await put_configmap(host, "web", binaryData={"files.tgz": encoded(packed(files))})
    found = await rendered(host, filed("configmap://web", "compiled/web"))
    assert found == [("ConfigMap", "settings"), ("Deployment", "web")]


async def test_a_folder_of_the_operator_is_read(host, tmp_path):
    (tmp_path / "apps" / "web").mkdir(parents=True)
    (tmp_path / "apps" / "web" / "web.yaml").write_text(f"{WORKLOAD}---\n{CONFIG}")
    expected = [("ConfigMap", "settings"), ("Deployment", "web")]
    assert await rendered(host, filed("file:///apps/web"), folder=tmp_path) == expected
    assert await rendered(host, filed("file:///apps", "web"), folder=tmp_path) == expected


async def test_a_chart_in_a_configmap_has_the_version_that_it_says(host):
    await put_configmap(host, "web", binaryData={"chart.tgz": encoded(packed_chart(version="1.2.3"))})
    assert await resolved(host, charted("configmap://web", "^1")) == "1.2.3"


async def test_charts_in_a_folder_are_found_packed_and_unpacked(host, tmp_path):
    folder = tmp_path / "charts"
    for path, content in chart_files(version="0.3.0").items():
        (folder / "web" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "web" / path).write_text(content)
    for name in ("web-0.1.0.tgz", "web-0.2.0.tgz", "web-site-9.0.0.tgz"):
        (folder / name).write_bytes(packed_chart())
    for version, chosen in {"": "0.3.0", "<0.3.0": "0.2.0", "0.1.0": "0.1.0"}.items():
        assert await resolved(host, charted("file:///charts", version), folder=tmp_path) == chosen
    assert await resolved(host, charted("file:///charts/web"), folder=tmp_path) == "0.3.0"


@pytest.mark.parametrize(
    ("environment", "reason", "sentence"),
    [
        (charted("configmap://absent"), "ChartFetchFailure", 'ConfigMap "default/absent" does not exist'),
        (charted("configmap://plain"), "ChartError", 'ConfigMap "default/plain" has no chart.tgz in binaryData'),
        (charted("configmap://broken"), "ChartError", 'ConfigMap "default/broken" is not a whole tar.gz archive'),
        (charted("configmap://web", name="other"), "ChartFetchFailure", 'ConfigMap "default/web" holds chart "web"'),
        (charted("configmap://web", "2.x"), "ChartFetchFailure", "no chart version found"),
        (charted("file:///charts"), "ChartRepoInternal", "file:/// is off: the control plane was started without"),
        (
            charted("an invalid url string"),
            "ChartRepoInternal",
            'internal chart repo client error: parse "an invalid url string": invalid URI for request',
        ),
        (filed("file:///apps"), "BrokenChartSpec", "file:/// is off"),
        (filed("configmap://absent"), "ChartFetchFailure", 'ConfigMap "default/absent" does not exist'),
        (
            filed("configmap://web"),
            "ChartError",
            "configmap://web has no manifest; files that end in .yaml, .yml, .json",
        ),
        (filed("configmap://plain", "deep"), "ChartError", "configmap://plain/deep has no manifest"),
        (filed("configmap://plain", "../x"), "BrokenChartSpec", "path: '../x' leads out of its source"),
        (filed("configmap://plain", values={"a": 1}), "BrokenChartSpec", "values are for charts only"),
        (filed("https://x.example"), "BrokenChartSpec", "must begin with configmap:// or file:///"),
        (Environment(raw={}), "BrokenChartSpec", "neither a chart nor a source"),
    ],
)
async def test_what_cannot_be_had_is_said_in_one_sentence(host, environment, reason, sentence):
    await put_configmap(host, "plain", data={"web.yaml": WORKLOAD})
    await put_configmap(host, "broken", binaryData={"chart.tgz": encoded(b"nothing")})
    await put_configmap(host, "web", binaryData={"chart.tgz": encoded(packed_chart())})
    got, said = await problem_of(rendered(host, environment))
    assert (got, sentence in said) == (reason, True), said


async def test_manifests_that_may_be_mended_are_read_again_and_addresses_that_may_not_are_not(host):
    await put_configmap(host, "web", data={"web.yaml": "no manifest"})
    for location, again in (("configmap://web", True), ("https://x.example", False)):
        with pytest.raises(SourceProblem) as caught:
            await rendered(host, filed(location))
        assert caught.value.transient is again


async def test_a_missing_program_is_one_clear_sentence(host, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HANSE_CACHE", str(tmp_path))
    for variable in ("HANSE_HELM", "HANSE_KUBECTL"):
        monkeypatch.delenv(variable, raising=False)
    await put_configmap(host, "web", binaryData={"chart.tgz": encoded(packed_chart())})
    reason, said = await problem_of(rendered(host, charted("configmap://web")))
    assert reason == "ChartRepoInternal"
    assert said == (
        "helm is not installed where the control plane runs; run `make helm`, put it on PATH, or let HANSE_HELM name it"
    )
    await put_configmap(host, "built", data={"kustomization.yaml": "{}"})
    _, said = await problem_of(rendered(host, filed("configmap://built", kind="kustomization")))
    assert said.startswith("kubectl is not installed where the control plane runs")


async def test_a_name_that_helm_does_not_take_and_values_that_are_too_large_are_said(host, tmp_path):
    helm = tmp_path / "helm"
    helm.write_text("#!/bin/false\n")
    helm.chmod(0o700)
    await put_configmap(host, "web", binaryData={"chart.tgz": encoded(packed_chart())})
    settings = SourceSettings(helm=str(helm), limits=Limits(values_bytes=1000))
    async with ManifestSources(host, settings) as sources:
        environment = charted("configmap://web")
        _, said = await problem_of(sources.render(environment, release="r" * 54, namespace="default"))
        assert said.endswith("has 54 characters and Helm takes at most 53; give the application a shorter name")
        large = charted("configmap://web", values={"text": "x" * 2000})
        reason, said = await problem_of(sources.render(large, release="web", namespace="default"))
    assert (reason, said.startswith("the values for chart web-0.1.0 are 0.0 MB and must not be more than")) == (
        "BrokenChartSpec",
        True,
    )


async def test_without_a_cache_folder_nothing_is_left_behind(host, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with served(Store()) as store:
        store.add(packed_chart())
        assert await resolved(host, charted(store.url)) == "0.1.0"
    assert list(tmp_path.iterdir()) == []


async def test_an_address_may_have_a_mirror(host):
    async with served(Store()) as store:
        store.add(packed_chart())
        environment = charted("https://charts.example/stable")
        assert await resolved(host, environment, mirrors={"https://charts.example/stable": store.url}) == "0.1.0"
