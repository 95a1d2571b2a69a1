"""xxHash64 against values of the reference implementation."""

import pytest

from hanse.rollouts.releases.xxhash import xxhash64


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"super-serverkind-app", 0x7C4B45478B5C63E9),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
        (bytes(range(101)), 0xE99038495F85381E),
    ],
)
def test_known_values(data, expected):
    assert xxhash64(data) == expected


def test_a_seed_gives_other_values_of_every_length():
    for length in range(70):
        assert xxhash64(bytes(length), 1) != xxhash64(bytes(length))
