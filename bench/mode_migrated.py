"""Hanse on a host that was KubeFed's: what KubeFed was given, to the letter."""

from __future__ import annotations

from bench.mode_kubefed import MODE

__all__ = ["MODE"]
