"""The selector of a Service whose pods run elsewhere: as its owner wrote it, and as it finds the pods in the source.

Placeholders carry the labels that the Service asks for, and lead nowhere. The pods that run in the source itself carry
the same labels under Admiralty's prefix.
"""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.admiralty.keys import NO_PREFIX, ORIGINAL_SELECTOR, PREFIX
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.pods.admission.values import LONGEST_PATTERN
from hanse.pods.placeholder.template import prefixed


def rerouted(service: Obj, selector: Mapping[str, str]) -> dict[str, str]:
    """Return the selector by which a Service finds the pods in the source; raises ValueError on a bad pattern."""
    pattern = annotations_of(service).get(NO_PREFIX)
    if pattern is not None and len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"it must not be longer than {LONGEST_PATTERN} characters")
    return prefixed(selector, pattern)


def original_selector(service: Obj) -> dict[str, str]:
    """Return the selector that the owner of a Service means, whether it is rerouted or written anew since.

    Keys without the prefix that are there beside prefixed ones were written by the owner, and count alone; where they
    are all such as keep their keys, the others are as they were.
    """
    selector = dict(dig(service, "spec", "selector") or {})
    saved = annotations_of(service).get(ORIGINAL_SELECTOR)
    if saved is None:
        return selector
    before = selector_from(saved)
    written = {key: value for key, value in selector.items() if not key.startswith(PREFIX)}
    expected = rerouted(service, before)
    if selector == expected or not written:
        return before
    if len(written) < len(selector) and all(key in expected for key in written):
        return {key: value for key, value in before.items() if key not in expected} | written
    return written


def selector_text(selector: Mapping[str, str]) -> str:
    """Write a selector as Admiralty saves it."""
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def selector_from(text: str) -> dict[str, str]:
    """Read a selector that was saved."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {key: value for key, _, value in pairs}
