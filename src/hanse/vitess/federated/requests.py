"""What people ask of a federated VitessCluster beside its specification: in annotations, which outlive every crash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.api.clusters import words_of
from hanse.kube.manifest import Obj, annotations_of
from hanse.vitess.federated.reading import ShardId

# Members that shall have no primaries and whose tablets shall be drained, by commas, for as long as it stands there.
EVACUATE_ANNOTATION = "hanse.dev/vitess-evacuate"
# Shards and their next primaries, KEYSPACE/SHARD=ALIAS by commas; it is taken away once they are.
REPARENT_ANNOTATION = "hanse.dev/vitess-reparent"
# Members of which a person says that they will not come back, by commas: pruning goes on without them.
WRITTEN_OFF_ANNOTATION = "hanse.dev/vitess-written-off"
# The text of a drain that an evacuation asks for; such drains end with it.
EVACUATION = "hanse: evacuation"


@dataclass(frozen=True, slots=True)
class Requests:
    """What is asked for now; `unread` are the words that mean nothing."""

    evacuate: tuple[str, ...] = ()
    reparent: Mapping[ShardId, str] = field(default_factory=dict)
    written_off: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def requests_of(source: Obj) -> Requests:
    """Read what people ask for."""
    annotations = annotations_of(source)
    reparent: dict[ShardId, str] = {}
    unread: list[str] = []
    for word in words_of(annotations.get(REPARENT_ANNOTATION, "")):
        shard, _, alias = word.partition("=")
        if "/" not in shard or not alias:
            unread.append(f"{REPARENT_ANNOTATION}: {word!r} is not KEYSPACE/SHARD=ALIAS")
        else:
            reparent[ShardId.parse(shard)] = alias
    return Requests(
        evacuate=words_of(annotations.get(EVACUATE_ANNOTATION, "")),
        reparent=reparent,
        written_off=words_of(annotations.get(WRITTEN_OFF_ANNOTATION, "")),
        unread=tuple(unread),
    )


def reparent_text(wishes: Mapping[ShardId, str]) -> str | None:
    """Write wishes for primaries as the annotation holds them; None where there are none."""
    return ",".join(f"{shard}={alias}" for shard, alias in sorted(wishes.items())) or None
