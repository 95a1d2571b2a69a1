"""Which kinds an API server serves, asked once and again when an unknown kind comes up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from hanse.kube.errors import ApiError, NotFound
from hanse.kube.resources import Resource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


class Discovery:
    """A cached answer to "what is served here"."""

    def __init__(self, fetch: Callable[..., Awaitable[bytes]]) -> None:
        self._fetch = fetch
        self._resources: list[Resource] | None = None
        self._lock = asyncio.Lock()

    async def resources(self) -> list[Resource]:
        """Every served kind in every served version, preferred versions first within a group."""
        async with self._lock:
            if self._resources is None:
                self._resources = await self._discover()
            return self._resources

    async def resource(self, group: str, version: str, kind: str) -> Resource:
        """Find one kind; asks the server again before it says that there is none."""
        for attempt in range(2):
            for resource in await self.resources():
                if resource.kind == kind and resource.group == group and resource.version == version:
                    return resource
            if attempt == 0:
                self.forget()
        api_version = f"{group}/{version}" if group else version
        raise NotFound(404, "NotFound", f'no matches for kind "{kind}" in version "{api_version}"')

    async def named(self, word: str) -> Resource:
        """Find a kind by what people type: plural, singular, short name or kind, with or without its group."""
        for attempt in range(2):
            found = _match(word.lower(), await self.resources())
            if found is not None:
                return found
            if attempt == 0:
                self.forget()
        raise NotFound(404, "NotFound", f'the server doesn\'t have a resource type "{word}"')

    def forget(self) -> None:
        """Ask anew next time."""
        self._resources = None

    async def _discover(self) -> list[Resource]:
        core = await self._document("/api")
        groups = await self._document("/apis")
        if core.get("kind") == "APIGroupDiscoveryList" and groups.get("kind") == "APIGroupDiscoveryList":
            return _from_aggregated(core) + _from_aggregated(groups)
        return await self._discover_legacy(core, groups)

    async def _discover_legacy(self, core: dict[str, Any], groups: dict[str, Any]) -> list[Resource]:
        paths = [("", version, f"/api/{version}") for version in core.get("versions") or []]
        for group in groups.get("groups") or []:
            preferred = (group.get("preferredVersion") or {}).get("version")
            served = [entry["version"] for entry in group.get("versions") or []]
            versions = [version for version in served if version == preferred]
            versions += [version for version in served if version != preferred]
            paths += [(group["name"], version, f"/apis/{group['name']}/{version}") for version in versions]
        found: list[Resource] = []
        for group_name, version, path in paths:
            try:
                document = await self._document(path)
            except ApiError:
                # One broken aggregated API must not hide all the others.
                continue
            found += _from_legacy(group_name, version, document)
        return found

    async def _document(self, path: str) -> dict[str, Any]:
        document: dict[str, Any] = orjson.loads(await self._fetch(path, accept=AGGREGATED))
        return document


def _match(word: str, resources: list[Resource]) -> Resource | None:
    name, _, group = word.partition(".")
    for resource in resources:
        names = {resource.plural, resource.kind.lower(), resource.singular, *resource.short_names}
        if name in names and (not group or resource.group == group or resource.group.startswith(f"{group}.")):
            return resource
    return None


def _from_aggregated(document: dict[str, Any]) -> list[Resource]:
    return [
        Resource(
            group=group["metadata"].get("name") or "",
            version=version["version"],
            plural=entry["resource"],
            kind=entry["responseKind"]["kind"],
            namespaced=entry.get("scope") == "Namespaced",
            verbs=frozenset(entry.get("verbs") or ()),
            subresources=frozenset(sub["subresource"] for sub in entry.get("subresources") or ()),
            short_names=tuple(entry.get("shortNames") or ()),
            singular=entry.get("singularResource") or "",
            categories=tuple(entry.get("categories") or ()),
        )
        for group in document.get("items") or []
        for version in group.get("versions") or []
        for entry in version.get("resources") or []
        if entry.get("responseKind")
    ]


def _from_legacy(group: str, version: str, document: dict[str, Any]) -> list[Resource]:
    entries = document.get("resources") or []
    subresources: dict[str, set[str]] = {}
    for entry in entries:
        plural, _, sub = entry["name"].partition("/")
        if sub:
            subresources.setdefault(plural, set()).add(sub)
    return [
        Resource(
            group=group,
            version=version,
            plural=entry["name"],
            kind=entry["kind"],
            namespaced=bool(entry.get("namespaced")),
            verbs=frozenset(entry.get("verbs") or ()),
            subresources=frozenset(subresources.get(entry["name"], ())),
            short_names=tuple(entry.get("shortNames") or ()),
            singular=entry.get("singularName") or "",
            categories=tuple(entry.get("categories") or ()),
        )
        for entry in entries
        if "/" not in entry["name"]
    ]
