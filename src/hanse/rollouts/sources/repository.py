"""A chart repository over HTTP: an index.yaml, and archives where it says."""

from __future__ import annotations

import hashlib
from urllib.parse import urljoin, urlsplit

from hanse.kube.runtime import Runtime
from hanse.rollouts.environment import Chart
from hanse.rollouts.sources.addresses import described
from hanse.rollouts.sources.cache import ChartCache
from hanse.rollouts.sources.catalogue import Catalogue
from hanse.rollouts.sources.choosing import choose
from hanse.rollouts.sources.downloads import Answer, DownloadProblem, Downloads
from hanse.rollouts.sources.indexes import Entry, Index, parse_index
from hanse.rollouts.sources.problem import CHART_FETCH_FAILURE, SourceProblem
from hanse.rollouts.sources.settings import Limits


class Repository:
    """Finds versions in one repository's index, and fetches archives that are not in the cache."""

    def __init__(self, url: str, *, downloads: Downloads, cache: ChartCache, runtime: Runtime, limits: Limits) -> None:
        self._url = url
        self._downloads = downloads
        self._cache = cache
        self._runtime = runtime
        self._limits = limits
        self._etag = ""
        self._body_digest = ""
        self._catalogue = Catalogue(url, self._ask, cache=cache, runtime=runtime, fresh_seconds=limits.index_seconds)

    async def resolve(self, chart: Chart) -> str:
        """Return the highest version that the chart's range admits; raises SourceProblem."""
        index = await self._catalogue.index()
        return choose(chart, [entry.version for entry in index.charts.get(chart.name, ())])

    async def archive(self, chart: Chart, version: str) -> bytes:
        """Return the archive of a version that was resolved; raises SourceProblem."""
        index = await self._catalogue.last_known()
        entry = index.entry(chart.name, version) or Entry(version)
        kept = await self._runtime.in_thread(lambda: self._cache.archive(self._url, chart.name, version, entry.digest))
        if kept is not None:
            return kept
        content = await self._fetch(chart, entry)
        await self._runtime.in_thread(lambda: self._cache.keep_archive(self._url, chart.name, version, content))
        return content

    async def _fetch(self, chart: Chart, entry: Entry) -> bytes:
        if not entry.urls:
            raise _unfetched(chart, "the index names no address of its archive", transient=False)
        url = _joined(_bare(self._url), entry.urls[0])
        if not url:
            raise _unfetched(chart, "the index gives an address that is not plain http or https", transient=False)
        try:
            content = _demand(await self._downloads.get(url, most_bytes=self._limits.archive_bytes))
        except DownloadProblem as error:
            raise _unfetched(chart, str(error), transient=True) from error
        found = await self._runtime.in_thread(lambda: hashlib.sha256(content).hexdigest())
        if entry.digest and found != entry.digest:
            raise _unfetched(chart, "its digest is not the one that the index says", transient=True)
        return content

    async def _ask(self, known: Index | None) -> Index:
        headers = {"if-none-match": self._etag} if self._etag and known is not None else {}
        parts = urlsplit(self._url)
        url = parts._replace(path=f"{parts.path.rstrip('/')}/index.yaml").geturl()
        answer = await self._downloads.get(url, most_bytes=self._limits.index_bytes, headers=headers)
        if answer.status == 304 and known is not None:
            return known
        body = _demand(answer)
        digest = await self._runtime.in_thread(lambda: hashlib.sha256(body).hexdigest())
        if known is None or digest != self._body_digest:
            known = await self._runtime.in_thread(lambda: parse_index(body))
        self._etag, self._body_digest = answer.headers.get("etag", ""), digest
        return known


def _demand(answer: Answer) -> bytes:
    if answer.status != 200:
        raise DownloadProblem(f"it answers with HTTP {answer.status}")
    return answer.body


def _bare(url: str) -> str:
    return urlsplit(url)._replace(query="", fragment="").geturl()


def _joined(base: str, address: str) -> str:
    """Return where an archive is; "" for an address that is not plain http or https, or none at all."""
    try:
        url = urljoin(f"{base.rstrip('/')}/", address)
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and "@" not in parts.netloc else ""


def _unfetched(chart: Chart, why: str, *, transient: bool) -> SourceProblem:
    return SourceProblem(CHART_FETCH_FAILURE, f"failed to fetch {described(chart)}: {why}", transient=transient)
