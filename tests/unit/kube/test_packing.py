"""Manifests at rest: what is read is what was kept, and nobody's to change."""

import pytest

from hanse.kube.packing import pack, unpack

SMALL = {"kind": "ConfigMap", "metadata": {"name": "a"}}
LARGE = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {f"key-{place}": "value" * 9 for place in range(40)}}


@pytest.mark.parametrize("obj", [SMALL, LARGE], ids=["as it is", "compressed"])
def test_who_changes_what_was_read_changes_nothing_for_the_next_reader(obj):
    packed = pack(obj)

    first = unpack(packed)
    first["metadata"]["name"] = "changed"

    assert unpack(packed) == obj


def test_what_repeats_itself_is_kept_in_a_part_of_its_size():
    assert len(pack(LARGE)) < 400
