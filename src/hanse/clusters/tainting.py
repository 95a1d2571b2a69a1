"""Keeping work away from a member: taints as people write them, and lists of them with one added or taken out. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hanse.api.clusters import Taint

EFFECTS = ("NoSchedule", "NoExecute")
_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


class TaintError(ValueError):
    """A taint that cannot be read, said in one sentence."""


def parse_taint(text: str) -> tuple[Taint, bool]:
    """Read `KEY[=VALUE]:EFFECT`, or `KEY[:EFFECT]-` which takes it away (True)."""
    removal = text.endswith("-")
    body = text.removesuffix("-")
    name, colon, effect = body.partition(":")
    key, _, value = name.partition("=")
    if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
        raise TaintError(f"{text!r} must be KEY[=VALUE]:EFFECT, as in maintenance=tonight:NoSchedule")
    if effect not in EFFECTS if colon else not removal:
        raise TaintError(f"{text!r} must end with one of the effects {', '.join(EFFECTS)}, as in {key}:NoSchedule")
    return Taint(key, value, effect), removal


def with_taint(taints: Sequence[Taint], taint: Taint, now: str) -> tuple[Taint, ...]:
    """Return the list with a taint in place of any of the same key and effect; the very same one keeps its time."""
    same = next((each for each in taints if replace(each, time_added="") == replace(taint, time_added="")), None)
    if same is not None:
        return tuple(taints)
    return (*without_taint(taints, taint), replace(taint, time_added=now))


def without_taint(taints: Sequence[Taint], taint: Taint) -> tuple[Taint, ...]:
    """Return the list without the taints of a key, of one effect where named."""
    return tuple(each for each in taints if each.key != taint.key or taint.effect not in ("", each.effect))
