"""Who has a name: a TXT record beside it that names the federation and the service.

The record stands at `_hanse.NAME`, one label below the name itself: a CNAME allows no other record at its own name,
and below a name that exists no wildcard answers, so that the record shadows nothing of anybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.kube.manifest import Key
from hanse.services.providers.texts import txt_content, txt_value
from hanse.services.records import TXT, Datum, RecordSet

_LABEL = "_hanse."
_HERITAGE = "heritage=hanse"
_LONGEST_NAME = 253
# Changed only with the name itself; resolvers have no use for it.
_TTL_SECONDS = 300

LONGEST_NAME = _LONGEST_NAME - len(_LABEL)


@dataclass(frozen=True, slots=True)
class Claim:
    """Which federation has a name, and for which service."""

    federation: str
    service: Key


def claimed_name(record: RecordSet) -> str:
    """Return the name that an ownership record is about, "" for every other record set."""
    return record.name.removeprefix(_LABEL) if record.type == TXT and record.name.startswith(_LABEL) else ""


def claim_record(name: str, claim: Claim) -> RecordSet:
    """Return the ownership record of a name."""
    text = f"{_HERITAGE},federation={claim.federation},service={claim.service}"
    return RecordSet(f"{_LABEL}{name}", TXT, _TTL_SECONDS, (Datum(txt_value(text)),))


def read_claims(record: RecordSet) -> list[Claim | None]:
    """Read who claims a name by an ownership record; None stands for text that is not an ownership record's."""
    return [_claim(txt_content(value).decode(errors="replace")) for value in record.values]


def only_claim(claims: Sequence[Claim | None]) -> Claim | None:
    """Return the one claim on a name, None where it is nobody's or several have one."""
    return claims[0] if len(claims) == 1 else None


def _claim(text: str) -> Claim | None:
    heritage, _, rest = text.partition(",")
    fields = dict(part.partition("=")[::2] for part in rest.split(","))
    if heritage != _HERITAGE or not fields.get("federation"):
        return None
    namespace, _, name = fields.get("service", "").rpartition("/")
    return Claim(fields["federation"], Key(namespace, name))
