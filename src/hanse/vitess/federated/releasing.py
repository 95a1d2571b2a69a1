"""Which waiting changes in members the federation lets go by itself, where a person has to release all others.

With the update strategy External an operator holds changes of keyspaces and shards until somebody releases them. Nobody
would release that a keyspace is emptied because it was removed from the federation, or that another member begins a
shard that never had a primary: there the federation is that somebody.
"""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.planetscale.kinds import KEYSPACE_LABEL, RELEASED_ANNOTATION, SCHEDULED_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, labels_of
from hanse.vitess.federated.member_parts import MemberParts
from hanse.vitess.federated.picture import Picture
from hanse.vitess.federated.plan import Entries, Plan


def to_release(plan: Plan, member: str, parts: MemberParts, picture: Picture | None) -> Iterator[Obj]:
    """Yield the keyspaces and shards of a member whose waiting changes may go."""
    leaving = plan.leaving.get(member, Entries()).keyspaces
    for obj in (*parts.keyspaces, *parts.shards):
        annotations, keyspace = annotations_of(obj), labels_of(obj).get(KEYSPACE_LABEL, "")
        if SCHEDULED_ANNOTATION not in annotations or RELEASED_ANNOTATION in annotations:
            continue
        if keyspace in leaving or _never_led(keyspace, picture):
            yield obj


def _never_led(keyspace: str, picture: Picture | None) -> bool:
    """Tell whether no shard of a keyspace has a primary: nothing is served that a change could disturb."""
    return picture is not None and not any(
        record.primary for shard, record in picture.shards.items() if shard.keyspace == keyspace
    )
