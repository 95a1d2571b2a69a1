"""The gate before the server: whoever runs it may delay, refuse or lose what comes from outside.

A gate stands where the network and the listening process stand: requests over a socket and transports made
`as_remote` pass it, the server's own loops do not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hanse.apiserver.answers import AnyAnswer
from hanse.apiserver.core import Core
from hanse.apiserver.dispatch import dispatch
from hanse.apiserver.identity import Identity
from hanse.kube.transport import Request

Onward = Callable[[Request], Awaitable[AnyAnswer]]
Gate = Callable[[Request, Identity, Onward], Awaitable[AnyAnswer]]


async def through_gate(core: Core, request: Request, identity: Identity) -> AnyAnswer:
    """Answer a request from outside; where there is a gate, it decides what becomes of it."""
    if core.gate is None:
        return await dispatch(core, request, identity)
    return await core.gate(request, identity, lambda asked: dispatch(core, asked, identity))
