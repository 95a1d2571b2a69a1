"""Protobuf of frozen values: what Vitess writes is read, and what Hanse does not know is kept."""

from dataclasses import replace

import pytest

from hanse.api.vitess_records.topology import (
    CellInfo,
    KeyRange,
    Keyspace,
    KeyspacePartition,
    Shard,
    ShardReference,
    SrvKeyspace,
    Tablet,
    TabletAlias,
    TabletType,
    Time,
)
from hanse.api.vitess_records.wire import decode, encode


@pytest.mark.parametrize(
    ("record", "written"),
    [
        (CellInfo("etcd:2379", "/vitess/zone1"), "0a09657463643a32333739" + "120d2f7669746573732f7a6f6e6531"),
        (TabletAlias("z", 300), "0a017a" + "10ac02"),
        (
            Tablet(alias=TabletAlias("z", 1), port_map={"grpc": 5, "vt": 0}),
            "0a050a017a1001" + "2208" + "0a04677270631005" + "2206" + "0a0276741000",
        ),
        (Time(-1, 0), "08" + "ff" * 9 + "01"),
        (Tablet(type=TabletType.REPLICA), "4002"),
        (Keyspace(), ""),
        (Shard(is_primary_serving=True, key_range=KeyRange(b"", b"\x80")), "1203" + "120180" + "3801"),
        (
            SrvKeyspace((KeyspacePartition(TabletType.PRIMARY, (ShardReference("-"),)),)),
            "0a07" + "0801" + "1203" + "0a012d",
        ),
    ],
)
def test_a_record_is_written_as_protobuf_and_read_back(record, written):
    assert encode(record).hex() == written
    assert decode(type(record), bytes.fromhex(written)) == record


def test_fields_that_are_not_known_survive_a_change():
    later = bytes.fromhex("9a0603616263" + "a80601" + "b10600000000000000f0" + "b50601020304")
    newer = encode(CellInfo("a", "b")) + later
    changed = replace(decode(CellInfo, newer), root="c")
    assert encode(changed) == encode(CellInfo("a", "c")) + later


def test_a_type_of_tablet_that_a_newer_vitess_has_is_kept():
    record = decode(Tablet, bytes.fromhex("4063"))
    assert record.type == 99
    assert encode(record).hex() == "4063"


@pytest.mark.parametrize("broken", ["0a", "0aff", "80", "0b", "0801", "ff" * 12])
def test_what_is_no_record_is_refused(broken):
    with pytest.raises(ValueError, match=r"cut off|travels as|wire type"):
        decode(CellInfo, bytes.fromhex(broken))


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [("-80", "80-", False), ("-80", "40-c0", True), ("-", "80-", True), ("-40", "-80", True), ("c0-", "40-80", False)],
)
def test_ranges_overlap_where_an_id_is_in_both(one, other, overlap):
    first, second = KeyRange.of_shard(one), KeyRange.of_shard(other)
    assert first is not None
    assert second is not None
    assert first.overlaps(second) is overlap
    assert second.overlaps(first) is overlap


def test_a_shard_without_a_range_has_none():
    assert KeyRange.of_shard("0") is None


@pytest.mark.parametrize("text", ["zone1-0000000100", "us-east-4294967295"])
def test_an_alias_is_a_cell_and_ten_digits(text):
    assert str(TabletAlias.parse(text)) == text


@pytest.mark.parametrize("text", ["zone1", "-5", "zone1-x", "zone1-4294967296"])
def test_what_is_no_alias_is_refused(text):
    with pytest.raises(ValueError, match="is no tablet alias"):
        TabletAlias.parse(text)
