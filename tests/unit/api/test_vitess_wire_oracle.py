"""Our protobuf against Google's own: what one writes the other reads, and no bytes do harm."""

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from types import UnionType
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from hanse.api.vitess_records import replication, tablet_manager, topology, vtctld
from hanse.api.vitess_records.wire import decode, encode

F = descriptor_pb2.FieldDescriptorProto
SCALARS = {str: F.TYPE_STRING, bytes: F.TYPE_BYTES, bool: F.TYPE_BOOL, int: F.TYPE_INT64, float: F.TYPE_DOUBLE}
SMALL = {int: st.integers(-(2**63), 2**63 - 1), bool: st.booleans(), float: st.floats(allow_nan=False, width=64)}
VALUES = SMALL | {str: st.text(max_size=5), bytes: st.binary(max_size=5)}


def shape(kind):
    """Return for each field its name, number, type, and whether it is a list or a mapping."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        held, number = get_args(hint)
        if get_origin(held) is tuple:
            yield name, number, get_args(held)[0], "list"
        elif get_origin(held) is UnionType:
            yield name, number, get_args(held)[0], "message"
        elif get_origin(held) is not None and issubclass(get_origin(held), Mapping):
            yield name, number, get_args(held)[1], "mapping"
        else:
            yield name, number, held, "one"


@cache
def official(kind):
    """Return Google's class for a message of ours."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{kind.__name__}.proto", syntax="proto3")
    described(kind, file, set())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(kind.__name__))


def described(kind, file, known):
    if kind in known:
        return
    known.add(kind)
    message = file.message_type.add(name=kind.__name__)
    for name, number, held, plural in shape(kind):
        field = message.field.add(name=name, number=number)
        field.label = F.LABEL_OPTIONAL if plural in ("one", "message") else F.LABEL_REPEATED
        if plural == "mapping":
            entry_name = "".join(part.capitalize() for part in name.split("_")) + "Entry"
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
            typed(entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL), held, file, known)
            field.type, field.type_name = F.TYPE_MESSAGE, f".{kind.__name__}.{entry_name}"
        else:
            typed(field, held, file, known)


def typed(field, held, file, known):
    if held in SCALARS:
        field.type = SCALARS[held]
    elif issubclass(held, IntEnum):
        field.type = F.TYPE_INT64
    else:
        field.type, field.type_name = F.TYPE_MESSAGE, f".{held.__name__}"
        described(held, file, known)


def records(kind):
    """Return a strategy for messages of a kind."""
    fields = {}
    for name, _, held, plural in shape(kind):
        one = values(held)
        plurals = {
            "list": st.lists(one, max_size=3).map(tuple),
            "mapping": st.dictionaries(st.text(max_size=3), one, max_size=3),
            "message": st.none() | one,
            "one": one,
        }
        fields[name] = plurals[plural]
    return st.builds(kind, **fields)


def values(held):
    if held in VALUES:
        return VALUES[held]
    return st.sampled_from(list(held)) if issubclass(held, IntEnum) else records(held)


# Between them they have every shape of field that there is, and all others within.
KINDS = [
    topology.CellsAlias,
    topology.Keyspace,
    topology.Shard,
    topology.SrvVSchema,
    topology.Tablet,
    replication.FullStatus,
    tablet_manager.GetSchemaResponse,
    tablet_manager.SetReplicationSourceRequest,
    vtctld.GetWorkflowsResponse,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_what_we_write_google_reads_and_what_google_writes_we_read(kind, data):
    record = data.draw(records(kind))
    theirs = official(kind)()
    theirs.ParseFromString(encode(record))
    assert decode(kind, theirs.SerializeToString()) == record


@given(st.binary(max_size=60))
def test_no_bytes_do_harm(data):
    try:
        record = decode(topology.Tablet, data)
    except ValueError:
        return
    assert decode(topology.Tablet, encode(record)) == record
