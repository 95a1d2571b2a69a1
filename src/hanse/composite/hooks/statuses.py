"""What a webhook's HTTP status means: the body that counts, a wait, or why there is no answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import ceil

from hanse.composite.hooks.answers import cut
from hanse.composite.hooks.calling import HookBusy
from hanse.composite.hooks.etags import Tagged

_OK = 200
_UNCHANGED = (304, 412)
_TOO_MANY = 429
_QUOTED_CHARACTERS = 200
# Whoever asks for more has made a mistake, from which its parents shall recover by themselves.
_LONGEST_WAIT_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer over HTTP; names of headers are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class BadStatus(Exception):
    """Why a status gives no answer; the end of a sentence that begins with the webhook."""


def counting_body(answer: HttpAnswer, sent: Tagged | None, now: float) -> bytes:
    """Return the body that counts: the answer's, or the known one whose tag was sent; raises HookBusy or BadStatus."""
    if answer.status == _OK:
        return answer.body
    if answer.status in _UNCHANGED and sent is not None:
        return sent.body
    if answer.status == _TOO_MANY:
        raise HookBusy(wait_seconds(answer.headers.get("retry-after", ""), now))
    raise BadStatus(_refusal(answer))


def wait_seconds(retry_after: str, now: float) -> float:
    """Return for how long a Retry-After header asks to wait; 0 where it is missing or cannot be read."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        # A number with more digits than this is more than the longest wait, and may be too long for a float.
        seconds = float(text[:12])
    else:
        try:
            seconds = float(ceil(parsedate_to_datetime(text).timestamp() - now))
        except (ValueError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT_SECONDS)


def _refusal(answer: HttpAnswer) -> str:
    if answer.status in _UNCHANGED:
        return f"answered with status {answer.status}, though no earlier answer was named to it"
    if answer.status in (301, 302, 303, 307, 308):
        return f"answered with status {answer.status}, and redirects are not followed: give the final URL"
    text = cut(answer.body[: 8 * _QUOTED_CHARACTERS].decode(errors="replace"), _QUOTED_CHARACTERS)
    return f"answered with status {answer.status}" + (f": {text}" if text else "")
