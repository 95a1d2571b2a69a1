"""What a hook is to whoever calls it: an object goes in, an object comes back, or one sentence that says why not.

No answer is ever an empty one: whatever goes wrong raises, so that nobody deletes children because a hook was broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime

MEGABYTE = 1024 * 1024
# More than any API server would take in one object, and little enough to hold in memory for several hooks.
MOST_ANSWER_BYTES = 16 * MEGABYTE
# The end of what is said to whoever calls a hook that is closed.
CLOSED = "is not called any more, since its controller has ended"


class HookFailed(Exception):
    """A hook gave no answer that can be used; a sentence that names the hook and the reason.

    `status` is the HTTP status of the answer, 0 where there was none.
    """

    def __init__(self, sentence: str, *, status: int = 0) -> None:
        super().__init__(sentence)
        self.status = status


class HookBusy(Exception):
    """A hook asked to be called later, which is no failure: after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the hook asks to be called again in {seconds:g} s")
        self.seconds = seconds


class HookUnusable(Exception):
    """A hook that can never be called as it is specified; a sentence that names what is to be put right."""


class Hook(Protocol):
    """A function of the user's, wherever it runs."""

    async def call(self, body: Obj, root: Obj) -> Obj:
        """Return the answer to a request about a root object (a parent, a target); raises HookFailed or HookBusy."""

    async def close(self) -> None:
        """End what the hook keeps open; a call that is under way fails. Safe to call twice."""


class Objects(Protocol):
    """Where hooks read the Secrets and ConfigMaps that they name."""

    async def secret(self, namespace: str, name: str) -> Obj | None:
        """Return a Secret, None where there is none; asked once, when a hook is opened."""

    async def config_map(self, namespace: str, name: str) -> Obj | None:
        """Return a ConfigMap, None where there is none; asked before each call of code in it, so out of a cache."""


@dataclass(frozen=True, slots=True)
class HookParts:
    """What hooks need of whoever hosts them.

    `trusted` says that who writes controller objects may also use this machine: run Python on it, name its files and
    call its loopback addresses. It is for objects of the federation; one of a member is not to be trusted so far.
    `folders` are where Python modules are found beside what is installed.
    """

    runtime: Runtime
    objects: Objects
    trusted: bool = False
    folders: tuple[str, ...] = ()
    workers: int = 2
    idle_seconds: float = 120.0
