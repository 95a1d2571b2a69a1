"""Which names objects may have, with Kubernetes' sentences for those they may not."""

from __future__ import annotations

import re
from typing import Literal

NameRule = Literal["subdomain", "label", "service", "path"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN.pattern}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{_LABEL.pattern}')"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL_1035.pattern}')"
)


def name_problems(name: str, rule: NameRule) -> list[str]:
    """Return what is wrong with an object's name under its kind's rule."""
    if rule == "path":
        return _path_problems(name)
    limit, pattern, sentence = {
        "subdomain": (253, _SUBDOMAIN, _SUBDOMAIN_RULE),
        "label": (63, _LABEL, _LABEL_RULE),
        "service": (63, _LABEL_1035, _LABEL_1035_RULE),
    }[rule]
    problems = []
    if len(name) > limit:
        problems.append(f"must be no more than {limit} characters")
    if rule == "label" and "." in name:
        problems.append("must not contain dots")
    elif not pattern.fullmatch(name):
        problems.append(sentence)
    return problems


def _path_problems(name: str) -> list[str]:
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]
