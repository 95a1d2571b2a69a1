"""How simulated containers conduct themselves, as a pod's commands, images and annotations say.

A container without a command runs until it is stopped, unless a Job owns its pod: then it completes after a second.
The image `pause` does nothing but wait to be stopped, whoever owns it.
Of a command the parts that tell when and how it ends are understood, also behind `sh -c`: `sleep N`, `exit N`,
`true`, `false`. Any other command ends at once where the pod may end (restartPolicy Never or OnFailure), and runs on
where it may not. An image tagged `missing`, or of a host under `.invalid`, cannot be pulled.

Annotations of the pod, which may also be changed while it runs:

    simulator.hanse.dev/run-seconds     how long each container runs, whatever its command says
    simulator.hanse.dev/exit-code       how each container then ends (default: 0)
    simulator.hanse.dev/failing-probes  which of readiness, liveness and startup fail: "readiness,liveness"
    simulator.hanse.dev/hang            "true": does not stop when told to, and is killed when its grace is over
    simulator.hanse.dev/evict           the resource that ran out: the pod is evicted from its node
    simulator.hanse.dev/cpu, /memory    how much each container uses, for metrics: "250m", "64Mi"
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from hanse.kube.manifest import Obj, annotations_of, controller_of

PREFIX = "simulator.hanse.dev/"
RUN_SECONDS = f"{PREFIX}run-seconds"
EXIT_CODE = f"{PREFIX}exit-code"
FAILING_PROBES = f"{PREFIX}failing-probes"
HANG = f"{PREFIX}hang"
EVICT = f"{PREFIX}evict"

_SHELLS = ("sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash")
_SEPARATORS = re.compile(r"&&|;|\n")
_QUICK = ("true", "echo", "printf", "date", "hostname")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_JOB_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Course:
    """When a container ends by itself, and how; without seconds it never does."""

    seconds: float | None = None
    exit_code: int = 0


def course_of(pod: Obj, container: Obj, *, may_end: bool) -> Course:
    """Tell what a container will do; `may_end` says whether an unknown command is one that ends."""
    said = annotations_of(pod)
    if RUN_SECONDS in said:
        return Course(_number(said[RUN_SECONDS]), int(_number(said.get(EXIT_CODE, "0"))))
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not words:
        owned_by_job = (controller_of(pod) or {}).get("kind") == "Job"
        completes = may_end and owned_by_job and not _is_pause(str(container.get("image") or ""))
        return Course(_JOB_SECONDS) if completes else Course()
    return _read(_statements(words), may_end=may_end)


def _statements(words: list[str]) -> list[list[str]]:
    if words[0] in _SHELLS and len(words) > 2 and words[1] in ("-c", "-ec", "-exc"):
        return [_split(text) for text in _SEPARATORS.split(words[2]) if text.strip()]
    return [words]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _read(statements: list[list[str]], *, may_end: bool) -> Course:
    seconds, code = 0.0, 0
    for words in statements:
        match words:
            case ["sleep", span, *_]:
                pause = _span(span)
                if pause is None:
                    return Course()
                seconds, code = seconds + pause, 0
            case ["exit", *rest]:
                return Course(seconds, int(_number(rest[0])) if rest else code)
            case ["false", *_]:
                code = 1
            case [word, *_] if word in _QUICK:
                code = 0
            case _:
                if not may_end:
                    return Course()
                code = 0
    return Course(seconds, code)


def _span(text: str) -> float | None:
    found = re.fullmatch(r"([0-9.]+)([smhd]?)", text)
    return _number(found.group(1)) * _UNITS[found.group(2)] if found else None


def _number(text: str) -> float:
    try:
        return max(0.0, float(text))
    except ValueError:
        return 0.0


def is_missing(image: str) -> bool:
    """Tell whether an image is one that cannot be pulled."""
    host = image.split("/", 1)[0].split(":", 1)[0] if "/" in image else ""
    return image.endswith(":missing") or host.endswith(".invalid")


def _is_pause(image: str) -> bool:
    return image.rpartition("/")[2].split(":", 1)[0].split("@", 1)[0] == "pause"


def failing_probes(pod: Obj) -> frozenset[str]:
    """Return which kinds of a pod's probes fail on purpose."""
    return frozenset(part.strip() for part in annotations_of(pod).get(FAILING_PROBES, "").split(","))


def hangs(pod: Obj) -> bool:
    """Tell whether a pod ignores being told to stop."""
    return annotations_of(pod).get(HANG) == "true"


def scarce_resource(pod: Obj) -> str:
    """Return for want of what a pod is to be evicted; "" where it is not."""
    return annotations_of(pod).get(EVICT, "")
