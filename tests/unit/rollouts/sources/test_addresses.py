"""Where an application says that its manifests are."""

import pytest

from hanse.rollouts.environment import Chart
from hanse.rollouts.sources import SourceProblem
from hanse.rollouts.sources.addresses import Address, chart_address, is_loopback, location_address, parse_mirrors


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://charts.example/stable", Address("https", "https://charts.example/stable")),
        ("http://charts.example:8080", Address("http", "http://charts.example:8080")),
        ("oci://ghcr.example/org/charts/", Address("oci", "ghcr.example/org/charts")),
        ("file:///charts/", Address("file", "charts")),
        ("file:///", Address("file", "")),
        ("configmap://web-chart", Address("configmap", "web-chart")),
    ],
)
def test_an_address_names_its_source(url, address):
    assert chart_address(Chart("web", "", url)) == address


@pytest.mark.parametrize(
    "url",
    [
        "an invalid url string",
        "",
        "charts.example",
        "ftp://charts.example",
        "https:charts.example",
        "https://",
        "https://charts.example:port",
        "https://[broken",
        "https://charts.example/with space",
        "oci://",
        "file://host/charts",
        "configmap://",
        "configmap://Not_A_Name",
        "configmap://name/key",
    ],
)
def test_what_is_no_address_is_an_internal_error_of_the_repository(url):
    with pytest.raises(SourceProblem) as caught:
        chart_address(Chart("web", "", url))
    assert caught.value.reason == "ChartRepoInternal"
    assert str(caught.value).startswith(f'internal chart repo client error: parse "{url}": ')
    assert not caught.value.transient


@pytest.mark.parametrize("url", ["https://user:hunter2@charts.example", "oci://hunter2@ghcr.example/org"])
def test_credentials_in_an_address_are_refused_and_not_repeated(url):
    with pytest.raises(SourceProblem, match=r"chart\.repoUrl has a user or a password in it") as caught:
        chart_address(Chart("web", "", url))
    assert caught.value.reason == "BrokenChartSpec"
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "../web", "a/b", "web*", "-web", "a b"])
def test_what_cannot_be_the_name_of_a_chart_is_refused(name):
    with pytest.raises(SourceProblem, match="name is not the name of a chart") as caught:
        chart_address(Chart(name, "", "https://charts.example"))
    assert caught.value.reason == "BrokenChartSpec"


def test_files_are_in_a_configmap_or_in_a_folder():
    assert location_address("file:///apps/web", "source.manifests.location") == Address("file", "apps/web")
    for location in ("https://charts.example", "web"):
        with pytest.raises(SourceProblem, match=r"source\.manifests\.location") as caught:
            location_address(location, "source.manifests.location")
        assert caught.value.reason == "BrokenChartSpec"


@pytest.mark.parametrize(
    ("host", "near"),
    [("localhost:5000", True), ("127.0.0.1", True), ("[::1]:5000", True), ("ghcr.example", False), ("10.0.0.1", False)],
)
def test_only_this_machine_goes_without_tls(host, near):
    assert is_loopback(host) is near


MIRRORS = "https://charts.example=http://mirror/all/, https://charts.example/stable=oci://mirror/stable"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://charts.example", Address("http", "http://mirror/all")),
        ("https://charts.example/edge", Address("http", "http://mirror/all/edge")),
        ("https://charts.example/stable/", Address("oci", "mirror/stable")),
        ("https://charts.example.org", Address("https", "https://charts.example.org")),
    ],
)
def test_an_address_that_is_mirrored_is_looked_up_there(url, address):
    assert chart_address(Chart("web", "", url), parse_mirrors(MIRRORS)) == address


def test_mirrors_are_pairs():
    assert parse_mirrors("") == {}
    with pytest.raises(ValueError, match=r"'https://charts\.example' has none"):
        parse_mirrors("https://charts.example")
