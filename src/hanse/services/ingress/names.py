"""The names of what a global load balancer is made of, as kubemci gave them, so that each finds the other's."""

from __future__ import annotations

import re

PREFIX = "mci1"
_LONGEST = 62
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def resource_name(kind: str, balancer: str, port: int | None = None) -> str:
    """Return the name of one resource of a load balancer; one that is too long is cut and ends with a 0."""
    stem = f"{PREFIX}-{kind}" if port is None else f"{PREFIX}-{kind}-{port}"
    name = f"{stem}--{balancer}"
    # A name must not end with a dash, which may be where it is cut.
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}0"


def name_problem(balancer: str) -> str:
    """Say why a load balancer cannot have this name, "" where it can."""
    if _NAME.fullmatch(balancer) and len(balancer) <= _LONGEST:
        return ""
    return (
        f"the name of a load balancer begins with a letter and has only lower-case letters, digits and dashes, "
        f"at most {_LONGEST} of them and no dash at the end; {balancer!r} is not such a name"
    )
