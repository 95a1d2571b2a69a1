"""Makes hooks of what controller objects say."""

from __future__ import annotations

from hanse.composite.hooks.calling import Hook, HookParts
from hanse.composite.spec import HookSpec, JsonnetSpec, PythonSpec, WebhookSpec


async def open_hook(spec: HookSpec, parts: HookParts) -> Hook:
    """Open the hook that a controller names; raises HookUnusable. Whoever opens it closes it."""
    match spec.call:
        case WebhookSpec():
            from hanse.composite.hooks.webhook import open_webhook

            return await open_webhook(spec.call, parts)
        case PythonSpec():
            from hanse.composite.hooks.python import python_hook

            return python_hook(spec.call, parts)
        case JsonnetSpec():
            from hanse.composite.hooks.jsonnet import jsonnet_hook

            return jsonnet_hook(spec.call, parts)
