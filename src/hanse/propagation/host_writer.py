"""Writing source objects back to the host: their status, and what others of them have to know."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, annotations_of
from hanse.propagation.door import Mark
from hanse.propagation.intent import Ref
from hanse.propagation.sources import Sources


class HostWriter:
    """Writes sources on top of the version that was read; Conflict says that it is not the newest."""

    def __init__(self, host: Client, sources: Sources) -> None:
        self._host = host
        self._sources = sources

    async def write(self, ref: Ref, obj: Obj, *, subresource: str = "") -> Obj | None:
        """Write a source; None says that it went away while we looked at it."""
        # A status says what was decided already, so nothing is to be decided on it.
        quietly = subresource == "status"
        try:
            with self._sources.telling(ref, obj) if quietly else nullcontext():
                written = await self._host.update(ref.resource, obj, subresource=subresource)
        except NotFound:
            return None
        self._sources.remember(ref, written, quietly=quietly)
        written["metadata"].pop("managedFields", None)
        return written

    async def write_reported(self, ref: Ref, source: Obj, reported: Obj) -> bool:
        """Write what a door has put into a source: its metadata, its status, or both; False where that is no news."""
        changed = bool(reported["metadata"] != source["metadata"])
        if changed:
            written = await self.write(ref, reported)
            if written is None:
                return True
            reported = {**written, "status": reported["status"]} if "status" in reported else written
        if _telling(reported.get("status") or {}) == _telling(source.get("status") or {}):
            return changed
        await self.write(ref, reported, subresource="status")
        return True

    async def mark(self, mark: Mark | None) -> None:
        """Write into another source what it has to know of this one, if it is there and does not know it yet."""
        for earlier in mark.before if mark is not None else ():
            await self.mark(earlier)
        source = self._sources.get(mark.ref) if mark is not None else None
        if mark is None or source is None or annotations_of(source).get(mark.annotation) == mark.text:
            return
        annotations = {name: text for name, text in annotations_of(source).items() if name != mark.annotation}
        if mark.text is not None:
            annotations[mark.annotation] = mark.text
        await self.write(mark.ref, {**source, "metadata": {**source["metadata"], "annotations": annotations}})


def _telling(value: Any) -> Any:
    """Return the fields of a status that say something: servers leave some zeros out, and put others in."""
    if isinstance(value, dict):
        return {name: told for name, each in value.items() if (told := _telling(each))}
    return [_telling(each) for each in value] if isinstance(value, list) else value
