"""The one source of time, randomness, identity and threads.

Everything that a program cannot compute from its inputs comes from a `Runtime`: what time it is, a jittered
delay, a new uid, a secret, a computation on another thread. A run with `SeededRuntime` on a loop whose clock
jumps is the same run every time, to the byte.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol, TypeVar

T = TypeVar("T")

# Names that Kubernetes generates avoid vowels and look-alikes, so that no word is spelt by accident.
_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Runtime(Protocol):
    """Where time, chance, identity and threads come from."""

    def now(self) -> float:
        """Return the wall-clock time in seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait; other tasks run meanwhile."""

    def uniform(self, low: float, high: float) -> float:
        """Return a random number between the two."""

    def uid(self) -> str:
        """Return a new uid for an object."""

    def name_suffix(self) -> str:
        """Return the five characters that follow a generateName."""

    def secret(self) -> str:
        """Return a new bearer secret that nobody can guess."""

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Run a blocking function without blocking the event loop."""


class SystemRuntime:
    """The machine's own clock, entropy and threads."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)  # noqa: S311 - jitter, not a secret

    def uid(self) -> str:
        return str(uuid.uuid4())

    def name_suffix(self) -> str:
        return "".join(random.choices(_NAME_ALPHABET, k=5))  # noqa: S311 - a name, not a secret

    def secret(self) -> str:
        return secrets.token_urlsafe(32)

    async def in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)


class SeededRuntime:
    """A repeatable run: chance from a seed, time from the event loop, no threads."""

    def __init__(self, seed: int = 0, epoch: float = 1_700_000_000.0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self._epoch = epoch

    def now(self) -> float:
        return self._epoch + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def name_suffix(self) -> str:
        return "".join(self._random.choices(_NAME_ALPHABET, k=5))

    def secret(self) -> str:
        return f"{self._random.getrandbits(256):064x}"

    async def in_thread(self, function: Callable[[], T]) -> T:
        return function()


def timestamp(seconds: float) -> str:
    """Write a time as Kubernetes does in metadata: RFC 3339, UTC, whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(seconds: float) -> str:
    """Write a time as Kubernetes' MicroTime: six decimals, as Leases and Events want."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(text: str) -> float:
    """Read either form of a Kubernetes time; raises ValueError on anything else."""
    return datetime.fromisoformat(text).timestamp()
