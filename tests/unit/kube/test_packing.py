"""Manifests at rest in memory."""

from __future__ import annotations

import sys

import pytest

from hanse.kube.packing import _Recent, pack, unpack

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SMALL = {"kind": "ConfigMap"}
LARGE = {"kind": "ConfigMap", "data": {str(number): "text" for number in range(100)}}


@pytest.mark.parametrize("obj", [SMALL, LARGE])
def test_what_is_unpacked_is_what_was_packed(obj: dict[str, object]) -> None:
    assert unpack(pack(obj)) == obj


def test_each_reader_has_objects_of_its_own() -> None:
    packed = pack(LARGE)
    first = unpack(packed)
    first["data"].clear()
    assert unpack(packed) == LARGE


def test_what_was_read_last_is_kept_within_a_bound_and_read_anew_beyond_it() -> None:
    recent = _Recent(bound=1000)
    texts = [bytes([number]) * 400 for number in range(5)]
    frames = [zstd.compress(text) for text in texts]
    for _ in range(2):
        assert [recent.get(frame) for frame in frames] == texts
        assert list(recent._raw) == frames[-2:]


def test_what_is_larger_than_the_bound_is_not_kept() -> None:
    recent = _Recent(bound=1000)
    frame = zstd.compress(b"x" * 2000)
    assert recent.get(frame) == b"x" * 2000
    assert not recent._raw
