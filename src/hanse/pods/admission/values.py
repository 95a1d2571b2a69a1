"""Whether what users say in annotations can be meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from hanse.api.admiralty.keys import EXPIRES_AFTER, FOLLOW, GANG, LOST_AFTER, NO_PREFIX, PROXY_CONSTRAINTS
from hanse.kube.cel.regex import pattern_problem
from hanse.pods.admission.constraints import BadConstraints, read_constraints
from hanse.pods.admission.refusals import Refusal, annotation_path

FOLLOWERS = ("serviceaccounts", "persistentvolumeclaims", "namespaces")
_COUNT = re.compile(r"[1-9][0-9]{0,5}")
_SECONDS = re.compile(r"0|[1-9][0-9]{0,8}")
LONGEST_PATTERN = 1024
# A source gives a sign every ten seconds, and may miss one or two.
SHORTEST_EXPIRY_SECONDS = 40


def bad_value(annotations: Mapping[str, str], within: str = "") -> Refusal | None:
    """Return the refusal of an annotation that cannot be meant; `within` is the path of what it is written on."""
    for key, problem in _PROBLEMS.items():
        said = problem(annotations[key]) if key in annotations else ""
        if said:
            return Refusal(within + annotation_path(key), said)
    return None


def warm_up() -> None:
    """Load what the first check would wait for: the table of pods' fields, and the engine with RE2 in it."""
    read_constraints("nodeSelector: {}")
    pattern_problem("a")


def _constraints_problem(text: str) -> str:
    try:
        read_constraints(text)
    except BadConstraints as error:
        return str(error)
    return ""


def _pattern_problem(text: str) -> str:
    if len(text) > LONGEST_PATTERN:
        return f"it must not be longer than {LONGEST_PATTERN} characters"
    # The same RE2 that judges patterns in CEL: Go's words, and no time beyond the length of what it reads.
    problem = pattern_problem(text)
    return f"it must be a regular expression as RE2 has them: {problem}" if problem else ""


def _gang_problem(text: str) -> str:
    return "" if text == "all" or _COUNT.fullmatch(text) else "it must be all or a number of pods from 1 to 999999"


def _follow_problem(text: str) -> str:
    unknown = [word for word in (part.strip() for part in text.split(",")) if word and word not in FOLLOWERS]
    return f"{unknown[0]!r} does not follow pods; it must name some of {', '.join(FOLLOWERS)}" if unknown else ""


def _lost_problem(text: str) -> str:
    return "" if text == "never" or _SECONDS.fullmatch(text) else "it must be never or a whole number of seconds"


def _expiry_problem(text: str) -> str:
    if _SECONDS.fullmatch(text) and int(text) >= SHORTEST_EXPIRY_SECONDS:
        return ""
    return f"it must be a whole number of seconds from {SHORTEST_EXPIRY_SECONDS} on, not {text[:40]!r}"


_PROBLEMS: Mapping[str, Callable[[str], str]] = {
    PROXY_CONSTRAINTS: _constraints_problem,
    NO_PREFIX: _pattern_problem,
    GANG: _gang_problem,
    FOLLOW: _follow_problem,
    LOST_AFTER: _lost_problem,
    EXPIRES_AFTER: _expiry_problem,
}
