"""Charts in an OCI registry, read without signing in: tags are versions, and an archive is a manifest's layer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

import orjson

from hanse.kube.manifest import dig
from hanse.kube.runtime import Runtime
from hanse.rollouts.environment import Chart
from hanse.rollouts.sources.addresses import described, is_loopback
from hanse.rollouts.sources.cache import ChartCache
from hanse.rollouts.sources.catalogue import Catalogue
from hanse.rollouts.sources.choosing import choose, unresolved, wanted_range
from hanse.rollouts.sources.downloads import Answer, DownloadProblem, Downloads
from hanse.rollouts.sources.indexes import Entry, Index
from hanse.rollouts.sources.problem import CHART_FETCH_FAILURE, SourceProblem
from hanse.rollouts.sources.settings import MEGABYTE, Limits
from hanse.rollouts.sources.versions import is_exact

_CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')
_MOST_PAGES = 50
_MANIFEST_BYTES = MEGABYTE


class Registry:
    """Finds versions of one chart among the tags of a repository, and fetches archives that are not in the cache."""

    def __init__(
        self, place: str, *, downloads: Downloads, cache: ChartCache, runtime: Runtime, limits: Limits
    ) -> None:
        host, _, self._repository = place.partition("/")
        self._source = f"oci://{place}"
        # As everywhere with registries: TLS, except on this very machine.
        self._root = f"{'http' if is_loopback(host) else 'https'}://{host}/v2/{quote(self._repository)}"
        self._downloads = downloads
        self._cache = cache
        self._runtime = runtime
        self._limits = limits
        self._token = ""
        self._catalogue = Catalogue(
            self._source, self._tags, cache=cache, runtime=runtime, fresh_seconds=limits.index_seconds
        )

    async def resolve(self, chart: Chart) -> str:
        """Return the highest version that the chart's range admits; raises SourceProblem.

        A whole version is looked up by itself: not every registry lists its tags to everybody.
        """
        wanted_range(chart)
        if not is_exact(chart.version):
            index = await self._catalogue.index()
            return choose(chart, [entry.version for entry in index.charts.get(self._repository, ())])
        if await self._kept(chart, chart.version) is None:
            await self._layer(chart, chart.version)
        return chart.version

    async def archive(self, chart: Chart, version: str) -> bytes:
        """Return the archive of a version; raises SourceProblem."""
        kept = await self._kept(chart, version)
        if kept is not None:
            return kept
        digest = await self._layer(chart, version)
        try:
            answer = await self._get(f"/blobs/{digest}", self._limits.archive_bytes)
        except DownloadProblem as error:
            raise _unfetched(chart, str(error)) from error
        if answer.status != 200:
            raise _unfetched(chart, f"the registry answers with HTTP {answer.status}")
        content = answer.body
        if await self._runtime.in_thread(lambda: _digest_of(content)) != digest:
            raise _unfetched(chart, "its digest is not the one that the registry says")
        await self._runtime.in_thread(lambda: self._cache.keep_archive(self._source, chart.name, version, content))
        return content

    async def _kept(self, chart: Chart, version: str) -> bytes | None:
        return await self._runtime.in_thread(lambda: self._cache.archive(self._source, chart.name, version))

    async def _layer(self, chart: Chart, version: str) -> str:
        """Return the digest of the archive that a version's manifest names."""
        try:
            answer = await self._get(f"/manifests/{_tag(version)}", _MANIFEST_BYTES, accept=_MANIFEST)
            if answer.status == 404:
                raise unresolved(chart, "no chart version found")
            if answer.status != 200:
                raise _unfetched(chart, f"the registry answers with HTTP {answer.status}")
            layers = dig(_json(answer.body), "layers", default=())
        except DownloadProblem as error:
            raise _unfetched(chart, str(error)) from error
        digests = [dig(layer, "digest") for layer in layers if dig(layer, "mediaType") == _CHART_LAYER]
        if len(digests) != 1 or not isinstance(digests[0], str) or not _DIGEST.fullmatch(digests[0]):
            raise SourceProblem(CHART_FETCH_FAILURE, f"{described(chart)} is in the registry, but is no Helm chart")
        return digests[0]

    async def _tags(self, _known: Index | None) -> Index:
        versions: list[str] = []
        path = "/tags/list?n=1000"
        for _ in range(_MOST_PAGES):
            answer = await self._get(path, self._limits.index_bytes)
            if answer.status == 404:
                break
            if answer.status != 200:
                raise DownloadProblem(f"it answers with HTTP {answer.status}")
            tags = dig(_json(answer.body), "tags", default=())
            # A tag cannot hold a plus; Helm writes an underscore instead.
            versions += [str(tag).replace("_", "+") for tag in tags]
            following = _NEXT.search(answer.headers.get("link", ""))
            if following is None:
                break
            path = self._next_page(following[1])
        entries = tuple(Entry(version) for version in versions)
        return Index({self._repository: entries} if entries else {})

    def _next_page(self, link: str) -> str:
        url = urljoin(f"{self._root}/tags/list", link)
        if not url.startswith(f"{self._root}/tags/list"):
            raise DownloadProblem("it continues its list of tags elsewhere")
        return url.removeprefix(self._root)

    async def _get(self, path: str, most_bytes: int, *, accept: str = "*/*") -> Answer:
        url = self._root + path
        answer = await self._downloads.get(url, most_bytes=most_bytes, headers=self._headers(accept))
        if answer.status != 401:
            return answer
        self._token = await self._anonymous_token(answer.headers.get("www-authenticate", ""))
        return await self._downloads.get(url, most_bytes=most_bytes, headers=self._headers(accept))

    def _headers(self, accept: str) -> dict[str, str]:
        return {"accept": accept, **({"authorization": f"Bearer {self._token}"} if self._token else {})}

    async def _anonymous_token(self, challenge: str) -> str:
        """Return the token that a registry gives to anybody for reading."""
        scheme, _, rest = challenge.partition(" ")
        asked = dict(_CHALLENGE.findall(rest))
        realm = asked.get("realm", "")
        if scheme.lower() != "bearer" or not realm:
            raise DownloadProblem("it wants a user and a password, which an application cannot have")
        try:
            address = urlsplit(realm)
        except ValueError as error:
            raise DownloadProblem("it sends for a token to what is no address") from error
        if address.scheme != "https" and not self._root.startswith("http://"):
            raise DownloadProblem("it sends for a token over a connection that is not safe")
        query = {
            "service": asked.get("service", ""),
            "scope": asked.get("scope") or f"repository:{self._repository}:pull",
        }
        joint = "&" if address.query else "?"
        answer = await self._downloads.get(f"{realm}{joint}{urlencode(query)}", most_bytes=_MANIFEST_BYTES)
        document = _json(answer.body) if answer.status == 200 else {}
        token = document.get("token") or document.get("access_token")
        if not isinstance(token, str) or not token:
            raise DownloadProblem("it gives nobody without a password anything to read")
        return token


def _tag(version: str) -> str:
    return quote(version.replace("+", "_"), safe="")


def _digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(body: bytes) -> Mapping[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise DownloadProblem("it does not answer as a registry does") from error
    if not isinstance(document, dict):
        raise DownloadProblem("it does not answer as a registry does")
    return document


def _unfetched(chart: Chart, why: str) -> SourceProblem:
    return SourceProblem(CHART_FETCH_FAILURE, f"failed to fetch {described(chart)}: {why}", transient=True)
