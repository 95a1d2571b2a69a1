"""Manifests at rest in memory: compressed JSON, a third of the size and nothing for the garbage collector to walk."""

from __future__ import annotations

import sys
from typing import Any

import orjson

from hanse.kube.manifest import Obj

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Below this, a frame's own overhead eats what compression saves.
_WORTH_BYTES = 256
_MAGIC = b"\x28\xb5\x2f\xfd"
# One compressor for all: making one costs more than compressing a manifest with it. Frames are complete at each call.
_compressor = zstd.ZstdCompressor(level=1)
# What has just changed is read several times at once, by everybody whom it concerns.
_RECENT_BYTES = 4 << 20


class _Recent:
    """The JSON of what was packed or read last, within a bound: to decompress costs four times what parsing does."""

    def __init__(self, bound: int) -> None:
        self._raw: dict[bytes, bytes] = {}
        self._bytes = 0
        self._bound = bound

    def add(self, packed: bytes, raw: bytes) -> None:
        if packed in self._raw or len(raw) > self._bound:
            return
        self._raw[packed] = raw
        self._bytes += len(raw)
        while self._bytes > self._bound:
            self._bytes -= len(self._raw.pop(next(iter(self._raw))))

    def get(self, packed: bytes) -> bytes:
        raw = self._raw.get(packed)
        if raw is None:
            raw = zstd.decompress(packed)
            self.add(packed, raw)
        return raw


_recent = _Recent(_RECENT_BYTES)


def pack(obj: Obj) -> bytes:
    """Encode a manifest for keeping; the result has no spare room in its buffer."""
    raw = orjson.dumps(obj)
    if len(raw) < _WORTH_BYTES:
        return bytes(memoryview(raw))
    packed = bytes(memoryview(_compressor.compress(raw, mode=zstd.ZstdCompressor.FLUSH_FRAME)))
    _recent.add(packed, raw)
    return packed


def unpack(packed: bytes) -> Any:
    """Decode what `pack` gave, each time into fresh objects."""
    return orjson.loads(_recent.get(packed) if packed.startswith(_MAGIC) else packed)
