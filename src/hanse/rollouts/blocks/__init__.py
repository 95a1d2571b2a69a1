"""Rollout blocks: what keeps rollouts of a namespace, or of all, as they are; and who goes on nevertheless."""

from __future__ import annotations

from hanse.rollouts.blocks.admission import install_block_admission
from hanse.rollouts.blocks.controller import BlockController
from hanse.rollouts.blocks.standing import (
    BLOCKED_EVENT,
    BLOCKED_REASON,
    OVERRIDDEN_EVENT,
    Blocked,
    concerns,
    overrides_of,
    standing,
)

__all__ = [
    "BLOCKED_EVENT",
    "BLOCKED_REASON",
    "OVERRIDDEN_EVENT",
    "BlockController",
    "Blocked",
    "concerns",
    "install_block_admission",
    "overrides_of",
    "standing",
]
