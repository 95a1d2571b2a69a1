"""xxHash64: the number by which an application prefers one cluster to another, as Shipper took it.

Written from the algorithm's published description (XXH64). Inputs are names, so plain integers are fast enough.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5
_STRIPE, _LANE, _HALF = 32, 8, 4


def xxhash64(data: bytes, seed: int = 0) -> int:
    """Return the 64-bit hash of some bytes."""
    striped = len(data) - len(data) % _STRIPE
    start = _striped(data[:striped], seed) if striped else (seed + _PRIME_5) & _MASK
    return _avalanche(_rest(data[striped:], (start + len(data)) & _MASK))


def _striped(data: bytes, seed: int) -> int:
    """Mix whole stripes of four lanes each."""
    lanes = [(seed + each) & _MASK for each in (_PRIME_1 + _PRIME_2, _PRIME_2, 0, -_PRIME_1)]
    for place in range(0, len(data), _LANE):
        lane = place // _LANE % len(lanes)
        lanes[lane] = _round(lanes[lane], _number(data, place, _LANE))
    mixed = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    for lane in lanes:
        mixed = ((mixed ^ _round(0, lane)) * _PRIME_1 + _PRIME_4) & _MASK
    return mixed


def _rest(data: bytes, mixed: int) -> int:
    """Mix what is shorter than a stripe: lanes, then half of one, then single bytes."""
    place = 0
    while place + _LANE <= len(data):
        mixed ^= _round(0, _number(data, place, _LANE))
        mixed = (_rotate(mixed, 27) * _PRIME_1 + _PRIME_4) & _MASK
        place += _LANE
    if place + _HALF <= len(data):
        mixed ^= _number(data, place, _HALF) * _PRIME_1 & _MASK
        mixed = (_rotate(mixed, 23) * _PRIME_2 + _PRIME_3) & _MASK
        place += _HALF
    for byte in data[place:]:
        mixed ^= byte * _PRIME_5 & _MASK
        mixed = _rotate(mixed, 11) * _PRIME_1 & _MASK
    return mixed


def _avalanche(mixed: int) -> int:
    mixed = (mixed ^ mixed >> 33) * _PRIME_2 & _MASK
    mixed = (mixed ^ mixed >> 29) * _PRIME_3 & _MASK
    return mixed ^ mixed >> 32


def _round(lane: int, number: int) -> int:
    return _rotate((lane + number * _PRIME_2) & _MASK, 31) * _PRIME_1 & _MASK


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> 64 - bits) & _MASK


def _number(data: bytes, place: int, length: int) -> int:
    return int.from_bytes(data[place : place + length], "little")
