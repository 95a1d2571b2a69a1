"""Whom resolvers may still lead clients to, by answers that they keep for the TTL of a service. Pure.

It is stored with the mixture, so that a control plane that starts anew does not forget it, and whoever waits for it
needs no clock: who is not in it any more is led to by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import orjson

from hanse.api.service_addresses import LEAVING_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.rollouts.weights.mixing import entries_of, leads

# DNS servers and balancers have heard of a mixture by then.
_HEARD_SECONDS = 5.0

# By cluster and release, the time until which somebody may be led there.
Leaving = Mapping[tuple[str, str], float]


def leaving_of(mixture: Obj | None) -> dict[tuple[str, str], float]:
    """Read who may still be led to; what cannot be read says nothing."""
    if mixture is None:
        return {}
    try:
        said = orjson.loads(annotations_of(mixture).get(LEAVING_ANNOTATION, "{}"))
        return {_place(where): parse_timestamp(until) for where, until in said.items()}
    except (ValueError, AttributeError, TypeError):
        return {}


def leaving_text(leaving: Leaving) -> str | None:
    """Write who may still be led to, None where nobody is."""
    if not leaving:
        return None
    said = {f"{cluster}/{release}": timestamp(until) for (cluster, release), until in leaving.items()}
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()


def take_leave(before: Obj | None, spec: Obj, now: float) -> dict[tuple[str, str], float]:
    """Return who may still be led to once `spec` takes the place of the mixture that is stored."""
    if before is None:
        return {}
    ttl = max(before["spec"].get("ttlSeconds") or 0, spec.get("ttlSeconds") or 0)
    latest = float(ceil(now + ttl + _HEARD_SECONDS))
    led = {place for place, entry in entries_of(spec).items() if leads(entry)}
    gone = {place: latest for place, entry in entries_of(before["spec"]).items() if leads(entry)}
    # A clock that was set back must not make anybody wait for longer than an answer can be kept.
    known = {place: min(until, latest) for place, until in leaving_of(before).items() if until > now}
    return {place: until for place, until in (known | gone).items() if place not in led}


def _place(where: str) -> tuple[str, str]:
    cluster, _, release = where.partition("/")
    return cluster, release
