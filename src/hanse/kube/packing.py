"""Manifests at rest in memory: compressed JSON, a third of the size and nothing for the garbage collector to walk."""

from __future__ import annotations

import sys
from functools import lru_cache
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
# What was read is mostly read again within moments, by whoever decides, writes and reports in turn: 10 MB at most of
# what is usual.
_OPEN_FRAMES = 2048
# One compressor for all: making one costs more than compressing a manifest with it. Frames are complete at each call.
_compressor = zstd.ZstdCompressor(level=1)


def pack(obj: Obj) -> bytes:
    """Encode a manifest for keeping; the result has no spare room in its buffer."""
    raw = orjson.dumps(obj)
    if len(raw) < _WORTH_BYTES:
        return bytes(memoryview(raw))
    return bytes(memoryview(_compressor.compress(raw, mode=zstd.ZstdCompressor.FLUSH_FRAME)))


def unpack(packed: bytes) -> Any:
    """Decode what `pack` gave, each time into fresh objects."""
    return orjson.loads(_opened(packed) if packed.startswith(_MAGIC) else packed)


@lru_cache(maxsize=_OPEN_FRAMES)
def _opened(packed: bytes) -> bytes:
    """Open a frame: twice the work of decoding what is in it."""
    return zstd.decompress(packed)
