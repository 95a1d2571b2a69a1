"""The hooks of one controller, opened together and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields

from hanse.composite.hooks.calling import Hook, HookFailed
from hanse.composite.spec import Hooks, HookSpec


@dataclass(frozen=True, slots=True)
class OpenedHooks:
    """What can be called, by what it is for; None where the controller has no such hook."""

    sync: Hook | None = None
    finalize: Hook | None = None
    customize: Hook | None = None
    pre_update_child: Hook | None = None
    post_update_child: Hook | None = None
    map: Hook | None = None
    tombstone: Hook | None = None

    async def close(self) -> None:
        """End every process and connection."""
        opened = [hook for each in fields(self) if (hook := getattr(self, each.name)) is not None]
        await asyncio.gather(*(hook.close() for hook in opened))


async def open_hooks(hooks: Hooks, open_hook: Callable[[HookSpec], Awaitable[Hook]]) -> OpenedHooks:
    """Open every hook of a controller, or none; raises HookFailed."""
    opened: dict[str, Hook] = {}
    try:
        for each in fields(hooks):
            spec: HookSpec | None = getattr(hooks, each.name)
            if spec is not None:
                opened[each.name] = await open_hook(spec)
    except BaseException:
        await OpenedHooks(**opened).close()
        raise
    return OpenedHooks(**opened)


def sync_hook(specs: Hooks, opened: OpenedHooks, *, finalizing: bool) -> tuple[HookSpec, Hook]:
    """Return the hook that says what shall be there, or what shall still be there of what goes."""
    spec = specs.finalize if finalizing else specs.sync
    hook = opened.finalize if finalizing else opened.sync
    if spec is None or hook is None:
        raise HookFailed("spec.hooks.sync: the controller has no such hook")
    return spec, hook
