"""What one repository offers: asked for again when it is old, remembered when the repository does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from hanse.kube.runtime import Runtime
from hanse.rollouts.sources.cache import ChartCache
from hanse.rollouts.sources.downloads import DownloadProblem
from hanse.rollouts.sources.indexes import Index, IndexProblem, pack_index, unpack_index
from hanse.rollouts.sources.problem import NO_CACHED_INDEX, SourceProblem

# Returns the index as the repository has it now, or the one that is known where it says that nothing changed.
Ask = Callable[[Index | None], Awaitable[Index]]


class Catalogue:
    """Knows the index of one source; whoever asks meanwhile shares one request."""

    def __init__(self, source: str, ask: Ask, *, cache: ChartCache, runtime: Runtime, fresh_seconds: float) -> None:
        self._source = source
        self._ask = ask
        self._cache = cache
        self._runtime = runtime
        self._fresh_seconds = fresh_seconds
        self._asking = asyncio.Lock()
        self._known: Index | None = None
        self._problem = ""
        self._asked_at = self._answered_at = float("-inf")

    async def index(self) -> Index:
        """Return the index, at most some seconds old where the repository answers; raises SourceProblem.

        Of a repository that does not answer, or has suddenly nothing any more, the last known index is returned.
        """
        wished_at = self._runtime.monotonic()
        async with self._asking:
            # An attempt that began after the wish answers it, however it went.
            if self._asked_at < wished_at and self._is_old(wished_at):
                await self._refresh()
        if self._known is None:
            raise SourceProblem(
                NO_CACHED_INDEX,
                f"failed to get chart repo index and there is no index in cache: {self._source}: {self._problem}",
                transient=True,
            )
        return self._known

    async def last_known(self) -> Index:
        """Return the index without asking again, however old it is; raises SourceProblem."""
        return self._known if self._known is not None else await self.index()

    def _is_old(self, now: float) -> bool:
        # With nothing in hand there is nothing to lose by asking again.
        return self._known is None or now - self._answered_at >= self._fresh_seconds

    async def _refresh(self) -> None:
        if self._known is None:
            kept = await self._runtime.in_thread(lambda: self._cache.index(self._source))
            self._known = unpack_index(kept) if kept is not None else None
        asked_at = self._runtime.monotonic()
        try:
            found = await self._ask(self._known)
        except (DownloadProblem, IndexProblem) as error:
            self._problem = str(error)
        else:
            await self._take(found)
        self._asked_at, self._answered_at = asked_at, self._runtime.monotonic()

    async def _take(self, found: Index) -> None:
        if self._known is not None and self._known.charts and not found.charts:
            # More likely a repository that is being rebuilt than one that has nothing any more.
            self._problem = "the new index contains no entries whereas the previous one had some"
            return
        if found is not self._known:
            self._known = found
            packed = pack_index(found)
            await self._runtime.in_thread(lambda: self._cache.keep_index(self._source, packed))
