"""What a placeholder says: the pod that was submitted, where it runs, and what targets answered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeGuard

import orjson

from hanse.api.admiralty.keys import ANSWERS, ATTEMPT, EXPIRES_AFTER, LOST_AFTER, MANIFEST, PROXY_SCHEDULER, TARGET
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.pods.strict_yaml import BadYaml, is_deep, read_yaml

LOST_SECONDS = 30.0
NEVER = "never"
# All annotations of an object together are no longer than that.
_LONGEST_BYTES = 256 * 1024
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Answer:
    """Why a target could not run a pod, and when it said so."""

    at: float
    why: str


def is_placeholder(pod: Obj) -> bool:
    """Tell whether a pod stands for one that runs elsewhere."""
    return dig(pod, "spec", "schedulerName") == PROXY_SCHEDULER and MANIFEST in annotations_of(pod)


def submitted(placeholder: Obj) -> Obj | None:
    """Return the pod as its owner submitted it; None where what is stored is no pod."""
    text = annotations_of(placeholder).get(MANIFEST, "")
    try:
        found = orjson.loads(text) if text.startswith("{") else read_yaml(text, _LONGEST_BYTES)
    except (ValueError, BadYaml):
        return None
    return found if _is_pod(found) and not is_deep(found) else None


def _is_pod(found: Any) -> TypeGuard[Obj]:
    metadata = dig(found, "metadata")
    if not isinstance(metadata, dict) or not isinstance(dig(found, "spec", "containers"), list):
        return False
    return isinstance(metadata.get("finalizers") or [], list)


def target_of(placeholder: Obj) -> str:
    """Return the target in which its pod was seen to have a node, "" before that."""
    return annotations_of(placeholder).get(TARGET, "")


def attempt_of(placeholder: Obj) -> int:
    """Return which attempt to find a place this is, counted from 1."""
    text = annotations_of(placeholder).get(ATTEMPT, "")
    return int(text) if _NUMBER.fullmatch(text) else 1


def answers_of(placeholder: Obj) -> dict[str, Answer]:
    """Return what targets answered that are left out for now."""
    try:
        found = orjson.loads(annotations_of(placeholder).get(ANSWERS) or "{}")
        return {name: Answer(parse_timestamp(each["at"]), str(each["why"])) for name, each in found.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def answers_text(answers: dict[str, Answer]) -> str | None:
    """Write answers as they are stored; None where there are none."""
    if not answers:
        return None
    return orjson.dumps(
        {name: {"at": timestamp(each.at), "why": each.why} for name, each in sorted(answers.items())}
    ).decode()


def lost_after(placeholder: Obj) -> float | None:
    """Return for how long the target of a placeholder may be lost before it is replaced; None says for ever."""
    text = annotations_of(placeholder).get(LOST_AFTER, "")
    if text == NEVER:
        return None
    return float(text) if _NUMBER.fullmatch(text) else LOST_SECONDS


def expires_after(pod: Obj) -> int | None:
    """Return after how many seconds without a sign of its source a pod is stopped; None says never."""
    text = annotations_of(pod).get(EXPIRES_AFTER, "")
    return int(text) if _NUMBER.fullmatch(text) else None
