"""Indexes and archives that outlast their repository."""

import asyncio
import hashlib
import os

import pytest

from hanse.kube.runtime import SeededRuntime
from hanse.rollouts.sources import SourceProblem
from hanse.rollouts.sources.cache import ChartCache
from hanse.rollouts.sources.catalogue import Catalogue
from hanse.rollouts.sources.downloads import DownloadProblem
from hanse.rollouts.sources.indexes import Entry, Index, IndexProblem, pack_index, parse_index, unpack_index

SOURCE = "https://charts.example/stable"
ONE = Index({"web": (Entry("1.0.0", ("web-1.0.0.tgz",), "ab"),)})
TWO = Index({"web": (Entry("2.0.0"),)})
NOTHING = Index({})


def test_versions_of_an_index_stay_texts():
    index = parse_index(
        b"""
apiVersion: v1
generated: 2020-01-01
entries:
  web:
    - {version: 1.10, urls: [web-1.10.tgz, other], digest: "sha256:AB", created: 2020-01-01}
    - {version: "2.0.0"}
    - {urls: [x]}
    - nonsense
  broken: nonsense
""".replace(b"SHA256:AB", b"sha256:AB")
    )
    assert index.charts == {"web": (Entry("1.10", ("web-1.10.tgz", "other"), "ab"), Entry("2.0.0"))}
    assert index.entry("web", "2.0.0") == Entry("2.0.0")
    assert index.entry("web", "3.0.0") is None


def test_an_index_may_be_json():
    text = b'{"apiVersion": "v1", "entries": {"web": [{"version": "1.0.0"}]}}'
    assert parse_index(text).charts == {"web": (Entry("1.0.0"),)}


@pytest.mark.parametrize(
    "text", [b"", b"a: [", b"<html>", b"entries: {}", b"apiVersion: v1\nentries: [1]", b"\xff\xfe"]
)
def test_what_is_no_index_is_refused(text):
    with pytest.raises(IndexProblem):
        parse_index(text)


def test_an_index_comes_back_as_it_was_kept():
    assert unpack_index(pack_index(ONE)) == ONE
    assert unpack_index(pack_index(ONE)[:-3]) is None


def test_an_archive_is_found_by_name_version_and_digest(tmp_path):
    ChartCache(tmp_path, 1000).keep_archive(SOURCE, "web", "1.0.0", b"one")
    cache = ChartCache(tmp_path, 1000)
    assert cache.archive(SOURCE, "web", "1.0.0") == b"one"
    assert cache.archive(SOURCE, "web", "1.0.0", hashlib.sha256(b"one").hexdigest()) == b"one"
    for source, name, version, digest in [
        (SOURCE, "web", "1.0.0", hashlib.sha256(b"other").hexdigest()),
        (SOURCE, "web", "1.0.0", "*"),
        (SOURCE, "web", "1.0.1", ""),
        (SOURCE, "we", "b-1.0.0", ""),
        ("https://charts.example-stable", "web", "1.0.0", ""),
    ]:
        assert cache.archive(source, name, version, digest) is None


def test_half_an_archive_is_not_taken_for_one(tmp_path):
    cache = ChartCache(tmp_path, 1000)
    cache.keep_archive(SOURCE, "web", "1.0.0", b"whole")
    (kept,) = tmp_path.glob("*/*.tgz")
    kept.write_bytes(b"who")
    assert cache.archive(SOURCE, "web", "1.0.0") is None
    assert not kept.exists()


def test_what_a_crash_left_behind_goes_with_the_next_archive(tmp_path):
    cache = ChartCache(tmp_path, 1000)
    cache.keep_archive(SOURCE, "web", "1.0.0", b"one")
    left = next(tmp_path.iterdir()) / ".web.99.partial"
    left.write_bytes(b"half")
    cache.keep_archive(SOURCE, "web", "2.0.0", b"two")
    assert not left.exists()
    assert cache.archive(SOURCE, "web", "2.0.0") == b"two"


def test_the_archive_that_was_not_used_for_longest_makes_room(tmp_path):
    cache = ChartCache(tmp_path, 25)
    for version, age in (("1.0.0", 300), ("2.0.0", 200)):
        cache.keep_archive(SOURCE, "web", version, version.encode() * 2)
        for path in tmp_path.glob(f"*/web-{version}-*.tgz"):
            os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert cache.archive(SOURCE, "web", "1.0.0") is not None
    cache.keep_archive(SOURCE, "web", "3.0.0", b"x" * 12)
    kept = [version for version in ("1.0.0", "2.0.0", "3.0.0") if cache.archive(SOURCE, "web", version)]
    assert kept == ["1.0.0", "3.0.0"]


def test_a_cache_that_cannot_be_written_is_no_problem(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    cache = ChartCache(blocked, 1000)
    cache.keep_index(SOURCE, b"{}")
    cache.keep_archive(SOURCE, "web", "1.0.0", b"one")
    assert (cache.index(SOURCE), cache.archive(SOURCE, "web", "1.0.0")) == (None, None)


class Origin:
    """Answers as told: an index, or a problem; counts how often it was asked."""

    def __init__(self, answer, seconds=0.0):
        self.answer, self.seconds, self.asked = answer, seconds, 0

    async def __call__(self, known):
        self.asked += 1
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def catalogue(folder, origin):
    cache = ChartCache(folder, 1000)
    return Catalogue(SOURCE, origin, cache=cache, runtime=SeededRuntime(), fresh_seconds=10.0)


@pytest.mark.looptime
async def test_an_index_is_asked_for_again_when_it_is_old(tmp_path):
    origin = Origin(ONE)
    known = catalogue(tmp_path, origin)
    assert await known.index() == ONE
    origin.answer = TWO
    await asyncio.sleep(9)
    assert (await known.index(), origin.asked) == (ONE, 1)
    await asyncio.sleep(2)
    assert (await known.index(), origin.asked) == (TWO, 2)


@pytest.mark.looptime
async def test_a_dead_repository_leaves_the_index_that_is_known_even_after_a_restart(tmp_path):
    origin = Origin(ONE)
    await catalogue(tmp_path, origin).index()
    origin.answer = DownloadProblem("no connection")
    assert await catalogue(tmp_path, origin).index() == ONE


@pytest.mark.looptime
async def test_a_hanging_repository_is_waited_for_once_in_a_while_only(tmp_path):
    origin = Origin(ONE)
    known = catalogue(tmp_path, origin)
    await known.index()
    origin.answer, origin.seconds = DownloadProblem("no answer within 10 s"), 10.0
    await asyncio.sleep(20)
    began = asyncio.get_running_loop().time()
    for _ in range(5):
        assert await known.index() == ONE
    assert asyncio.get_running_loop().time() - began == pytest.approx(10, abs=0.1)


@pytest.mark.looptime
async def test_whoever_asks_meanwhile_shares_the_request(tmp_path):
    origin = Origin(ONE, seconds=1.0)
    known = catalogue(tmp_path, origin)
    assert await asyncio.gather(*(known.index() for _ in range(20))) == [ONE] * 20
    assert origin.asked == 1


@pytest.mark.looptime
async def test_many_wait_for_a_repository_that_never_answered_no_longer_than_two_requests(tmp_path):
    origin = Origin(DownloadProblem("no answer within 10 s"), seconds=10.0)
    known = catalogue(tmp_path, origin)
    results = await asyncio.gather(*(known.index() for _ in range(20)), return_exceptions=True)
    assert {(problem.reason, problem.transient) for problem in results} == {("NoCachedChartRepoIndex", True)}
    assert str(results[0]) == (
        "failed to get chart repo index and there is no index in cache: "
        "https://charts.example/stable: no answer within 10 s"
    )
    assert origin.asked <= 2


@pytest.mark.looptime
async def test_an_index_that_is_suddenly_empty_is_not_believed(tmp_path):
    origin = Origin(ONE)
    known = catalogue(tmp_path, origin)
    await known.index()
    origin.answer = NOTHING
    await asyncio.sleep(11)
    assert await known.index() == ONE
    assert await catalogue(tmp_path, origin).index() == ONE


@pytest.mark.looptime
async def test_an_index_that_never_had_anything_is_empty(tmp_path):
    assert await catalogue(tmp_path, Origin(NOTHING)).index() == NOTHING


@pytest.mark.looptime
async def test_a_repository_that_comes_back_is_asked_at_once_where_nothing_was_known(tmp_path):
    origin = Origin(IndexProblem("it is not valid YAML"))
    known = catalogue(tmp_path, origin)
    with pytest.raises(SourceProblem):
        await known.index()
    origin.answer = ONE
    await asyncio.sleep(0.1)
    assert await known.index() == ONE
