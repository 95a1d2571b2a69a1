"""Charts of an HTTP repository and of a registry, both on loopback."""

import gzip
import ssl
from contextlib import asynccontextmanager

import pytest
import yaml

from hanse.kube.runtime import SystemRuntime
from hanse.rollouts.environment import Chart
from hanse.rollouts.sources import Limits, SourceProblem
from hanse.rollouts.sources.cache import ChartCache
from hanse.rollouts.sources.downloads import Downloads
from hanse.rollouts.sources.registry import Registry
from hanse.rollouts.sources.repository import Repository
from tests.component.kube.servers import Authority
from tests.component.rollouts.sources.stores import RegistryStub, Store, packed_chart, served, status

pytestmark = pytest.mark.timeout(60)

# Asked anew every time, so that a test need not wait.
LIMITS = Limits(index_seconds=0.0, archive_bytes=100_000, index_bytes=100_000)


@asynccontextmanager
async def fetching(kind, place, folder, limits=LIMITS):
    """A repository or registry as a control plane that just started has it."""
    downloads = Downloads(limits)
    try:
        yield kind(
            place, downloads=downloads, cache=ChartCache(folder, 1_000_000), runtime=SystemRuntime(), limits=limits
        )
    finally:
        await downloads.close()


def wanted(version="", name="web", url="https://charts.example"):
    return Chart(name, version, url)


async def problem_of(awaitable):
    with pytest.raises(SourceProblem) as caught:
        await awaitable
    return caught.value.reason, str(caught.value).rpartition("]: ")[2], caught.value.transient


@pytest.fixture
async def store():
    async with served(Store()) as store:
        yield store


@pytest.fixture
async def stub():
    async with served(RegistryStub()) as stub:
        yield stub


async def test_the_highest_version_of_a_range_is_found_and_fetched(store, tmp_path):
    for version in ("0.0.1", "0.0.2", "1.0.0"):
        store.add(packed_chart(version=version), version=version)
    async with fetching(Repository, store.url, tmp_path) as repository:
        assert await repository.resolve(wanted("~0.0.1")) == "0.0.2"
        assert await repository.archive(wanted(), "0.0.2") == store.files["web-0.0.2.tgz"]


@pytest.mark.parametrize("link", ["web-0.1.0.tgz", "./web-0.1.0.tgz", "{url}/web-0.1.0.tgz", "/charts/web-0.1.0.tgz"])
async def test_relative_addresses_are_those_of_the_repository(store, tmp_path, link):
    store.add(packed_chart(), urls=[link.format(url=store.url)])
    async with fetching(Repository, f"{store.url}/", tmp_path) as repository:
        assert await repository.archive(wanted(), "0.1.0") == store.files["web-0.1.0.tgz"]


async def test_an_archive_is_fetched_once_and_kept_over_a_restart(store, tmp_path):
    store.add(packed_chart())
    for _ in range(2):
        async with fetching(Repository, store.url, tmp_path) as repository:
            await repository.archive(wanted(), "0.1.0")
    assert store.asked.count("/charts/web-0.1.0.tgz") == 1


async def test_a_dead_repository_does_not_stop_a_rollout_of_a_chart_that_is_known(store, tmp_path):
    store.add(packed_chart())
    async with fetching(Repository, store.url, tmp_path) as repository:
        await repository.archive(wanted(), await repository.resolve(wanted("0.x")))
    store.dead = True
    async with fetching(Repository, store.url, tmp_path) as restarted:
        version = await restarted.resolve(wanted("0.x"))
        assert await restarted.archive(wanted(), version) == store.files["web-0.1.0.tgz"]


async def test_a_changed_archive_under_the_same_version_is_fetched_where_the_index_says_so(store, tmp_path):
    store.add(packed_chart())
    async with fetching(Repository, store.url, tmp_path) as repository:
        await repository.archive(wanted(), "0.1.0")
        store.index["entries"].clear()
        changed = packed_chart(files={"README.md": "changed"})
        store.add(changed)
        assert await repository.resolve(wanted()) == "0.1.0"
        assert await repository.archive(wanted(), "0.1.0") == changed


async def test_an_unchanged_index_is_not_sent_again(store, tmp_path):
    store.add(packed_chart())
    store.headers["etag"] = '"one"'
    async with fetching(Repository, store.url, tmp_path) as repository:
        await repository.resolve(wanted())
        store.files["index.yaml"] = status(304)
        assert await repository.resolve(wanted()) == "0.1.0"


async def test_a_packed_index_is_unpacked(store, tmp_path):
    store.add(packed_chart())
    store.files["index.yaml"] = gzip.compress(yaml.safe_dump(store.index).encode())
    store.headers["content-encoding"] = "gzip"
    async with fetching(Repository, store.url, tmp_path) as repository:
        assert await repository.resolve(wanted()) == "0.1.0"


async def test_redirects_are_followed(store, tmp_path):
    store.add(packed_chart(), urls=["moved.tgz"])
    store.files["moved.tgz"] = status(302, location=f"{store.url}/web-0.1.0.tgz")
    async with fetching(Repository, store.url, tmp_path) as repository:
        assert await repository.archive(wanted(), "0.1.0") == store.files["web-0.1.0.tgz"]


@pytest.mark.parametrize(
    ("version", "name", "told"),
    [
        ("0.1.0", "absent", ("ChartFetchFailure", "no chart name found", True)),
        ("9.9.9", "web", ("ChartFetchFailure", "no chart version found", True)),
        ("latest", "web", ("BrokenChartSpec", "improper constraint: latest", False)),
    ],
)
async def test_a_version_that_is_not_there_is_said_in_one_sentence(store, tmp_path, version, name, told):
    store.add(packed_chart())
    async with fetching(Repository, store.url, tmp_path) as repository:
        assert await problem_of(repository.resolve(wanted(version, name))) == told


async def test_the_sentence_names_chart_version_and_repository(store, tmp_path):
    async with fetching(Repository, store.url, tmp_path) as repository:
        with pytest.raises(SourceProblem) as caught:
            await repository.resolve(wanted("1.x"))
    assert str(caught.value) == (
        'failed to resolve chart version [name: "web", version: "1.x", repo: "https://charts.example"]: '
        "no chart name found"
    )


@pytest.mark.parametrize(
    ("entry", "content", "told"),
    [
        ({"digest": "0" * 64}, None, ("its digest is not the one that the index says", True)),
        ({"digest": "md5:1"}, None, ("its digest is not the one that the index says", True)),
        ({"urls": []}, None, ("the index names no address of its archive", False)),
        ({"urls": ["file:///etc/passwd"]}, None, ("the index gives an address that is not plain http or https", False)),
        ({"urls": ["absent.tgz"]}, None, ("it answers with HTTP 404", True)),
        ({"digest": ""}, b"x" * 200_000, ("the answer is larger than 0.0953674 MB", True)),
        (
            {"digest": ""},
            status(302, location="ftp://x/y"),
            ("it redirects from http to ftp, which is not followed", True),
        ),
        ({"digest": ""}, status(302, location="/charts/web-0.1.0.tgz"), ("more than 5 redirects", True)),
    ],
)
async def test_an_archive_that_cannot_be_had_is_said_in_one_sentence(store, tmp_path, entry, content, told):
    store.add(packed_chart(), **entry)
    if content is not None:
        store.files["web-0.1.0.tgz"] = content
    async with fetching(Repository, store.url, tmp_path) as repository:
        assert await problem_of(repository.archive(wanted(), "0.1.0")) == ("ChartFetchFailure", *told)


async def test_a_repository_that_hangs_is_given_up(store, tmp_path):
    store.hung = True
    limits = Limits(request_seconds=0.05)
    async with fetching(Repository, store.url, tmp_path, limits) as repository:
        reason, said, transient = await problem_of(repository.resolve(wanted()))
    assert (reason, transient) == ("NoCachedChartRepoIndex", True)
    assert said.endswith("no answer within 0.05 s")


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (b"<html>welcome</html>", "it has no apiVersion, so it is no index of charts"),
        (b"a: [", "it is not valid YAML"),
        (b"#" * 200_000, "the answer is larger than 0.0953674 MB"),
        (status(403), "it answers with HTTP 403"),
    ],
)
async def test_an_index_that_cannot_be_had_is_said_in_one_sentence(store, tmp_path, index, said):
    store.files["index.yaml"] = index
    async with fetching(Repository, store.url, tmp_path) as repository:
        reason, told, transient = await problem_of(repository.resolve(wanted()))
    assert (reason, transient) == ("NoCachedChartRepoIndex", True)
    assert told.endswith(f"{store.url}: {said}")


async def test_nobody_listens_where_the_repository_should_be(store, tmp_path):
    url = "http://127.0.0.1:1/charts"
    async with fetching(Repository, url, tmp_path) as repository:
        assert (await problem_of(repository.resolve(wanted())))[1].startswith(
            "failed to get chart repo index and there is no index in cache: http://127.0.0.1:1/charts: no connection ("
        )


async def test_a_repository_whose_certificate_nobody_vouches_for_is_not_asked(tmp_path):
    pair = Authority().issue(hosts=["127.0.0.1"])
    (tmp_path / "pem").write_bytes(pair.certificate + pair.key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "pem")
    async with served(Store(), tls) as store, fetching(Repository, store.url, tmp_path) as repository:
        assert (await problem_of(repository.resolve(wanted())))[1].endswith(": its certificate is not trusted")
        assert store.asked == []


async def test_tags_of_a_registry_are_versions(stub, tmp_path):
    stub.page = 2
    for version in ("0.1.0", "0.2.0", "0.2.1+build.5", "1.0.0"):
        stub.push("org/charts/web", version, packed_chart(version=version))
    async with fetching(Registry, f"{stub.host}/org/charts/web", tmp_path) as registry:
        version = await registry.resolve(wanted("0.x"))
        assert version == "0.2.1+build.5"
        assert await registry.archive(wanted("0.x"), version) == packed_chart_of(stub, version)


def packed_chart_of(stub, version):
    layer = stub.charts["org/charts/web"][version.replace("+", "_")]["layers"][0]
    return stub.blobs[layer["digest"]]


async def test_a_registry_that_wants_a_token_of_anybody_is_given_it(stub, tmp_path):
    stub.token = "for-anybody"
    stub.push("web", "0.1.0", packed_chart())
    async with fetching(Registry, f"{stub.host}/web", tmp_path) as registry:
        assert await registry.resolve(wanted("0.1.0")) == "0.1.0"
        assert await registry.archive(wanted(), "0.1.0") == next(iter(stub.blobs.values()))
    assert stub.asked.count("/token") == 1


async def test_a_dead_registry_does_not_stop_a_rollout_of_a_chart_that_is_known(stub, tmp_path):
    stub.push("web", "0.1.0", packed_chart())
    async with fetching(Registry, f"{stub.host}/web", tmp_path) as registry:
        await registry.archive(wanted(), await registry.resolve(wanted("0.x")))
    stub.token, stub.challenge = "secret", "Basic"
    async with fetching(Registry, f"{stub.host}/web", tmp_path) as restarted:
        for version in ("0.x", "0.1.0"):
            assert await restarted.resolve(wanted(version)) == "0.1.0"
        assert await restarted.archive(wanted(), "0.1.0") == next(iter(stub.blobs.values()))


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("2.0.0", ("ChartFetchFailure", "no chart version found", True)),
        ("^2", ("ChartFetchFailure", "no chart version found", True)),
        ("nope", ("BrokenChartSpec", "improper constraint: nope", False)),
    ],
)
async def test_a_version_that_a_registry_does_not_have_is_said(stub, tmp_path, version, told):
    stub.push("web", "0.1.0", packed_chart())
    async with fetching(Registry, f"{stub.host}/web", tmp_path) as registry:
        assert await problem_of(registry.resolve(wanted(version))) == told


async def test_a_registry_for_people_with_passwords_is_said(stub, tmp_path):
    stub.token, stub.challenge = "secret", 'Basic realm="x"'
    async with fetching(Registry, f"{stub.host}/web", tmp_path) as registry:
        reason, said, _ = await problem_of(registry.resolve(wanted("0.1.0")))
    assert (reason, said) == ("ChartFetchFailure", "it wants a user and a password, which an application cannot have")


async def test_what_is_no_chart_in_a_registry_is_said(stub, tmp_path):
    stub.media_type = "application/vnd.oci.image.layer.v1.tar+gzip"
    stub.push("web", "0.1.0", packed_chart())
    async with fetching(Registry, f"{stub.host}/web", tmp_path) as registry:
        _, said, _ = await problem_of(registry.resolve(wanted("0.1.0")))
    assert said.endswith("is in the registry, but is no Helm chart")


async def test_a_layer_that_is_not_what_the_manifest_says_is_refused(stub, tmp_path):
    stub.push("web", "0.1.0", packed_chart())
    stub.blobs = dict.fromkeys(stub.blobs, b"forged")
    async with fetching(Registry, f"{stub.host}/web", tmp_path) as registry:
        _, said, _ = await problem_of(registry.archive(wanted(), "0.1.0"))
    assert said == "its digest is not the one that the registry says"
