"""Where the code of hooks comes from: a file of this machine, a ConfigMap, or the controller object itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hanse.composite.hooks.calling import Objects
from hanse.composite.spec import SourceSpec
from hanse.kube.manifest import Obj, uid_of, version_of


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Code in a file (or a library in a folder) that the hook's process reads itself."""

    path: str


@dataclass(frozen=True, slots=True)
class Sent:
    """Code that goes along with each question: the names and texts of its files, of which the first is the main one."""

    files: tuple[tuple[str, str], ...]


class SourceMissing(Exception):
    """Why there is no code; the end of a sentence that begins with the hook."""


class Source:
    """The code of a hook, or a library of it; what is read again unchanged is the same value."""

    def __init__(self, spec: SourceSpec, objects: Objects, inline_name: str) -> None:
        self._spec = spec
        self._objects = objects
        self._inline = Sent(((inline_name, spec.inline),))
        self._on_disk = OnDisk(str(Path(spec.path).absolute()))
        self._version = ""
        self._sent: Sent | None = None

    @property
    def title(self) -> str:
        """What people call it."""
        named = self._spec.config_map
        if named is not None:
            return f'key "{named.key}" of ConfigMap {named.namespace}/{named.name}'
        return self._spec.path or "the controller's inline code"

    async def read(self) -> OnDisk | Sent:
        """Return where the code is, or the code; raises SourceMissing."""
        if self._spec.path:
            return self._on_disk
        named = self._spec.config_map
        if named is None:
            return self._inline
        found = await self._objects.config_map(named.namespace, named.name)
        if found is None:
            raise SourceMissing(f"has no code: there is no ConfigMap {named.namespace}/{named.name}")
        version = f"{uid_of(found)}/{version_of(found)}"
        if self._sent is None or version != self._version:
            self._sent, self._version = _sent(found, named.key), version
        return self._sent


def _sent(config_map: Obj, key: str) -> Sent:
    data = config_map.get("data") or {}
    if key not in data:
        keys = ", ".join(sorted(data)) or "no keys"
        name = config_map["metadata"]["name"]
        raise SourceMissing(f'has no code: ConfigMap {name} has no key "{key}", it has {keys}')
    beside = sorted((name, text) for name, text in data.items() if name != key)
    return Sent(((key, data[key]), *beside))
