"""Connections to tablets are kept, and not for ever: pods have another address each time they are made anew."""

import asyncio

import pytest

from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.topology import Tablet, TabletAlias
from hanse.vitess.tablets.calling import CallFailed

pytest.importorskip("grpc", reason="speaking with tablets needs hanse[vitess]")


async def test_of_many_addresses_only_those_asked_last_are_kept():
    from hanse.vitess.tablets.grpc_calling import GrpcCaller

    caller = GrpcCaller(most=2)

    async def ask(port):
        tablet = Tablet(alias=TabletAlias("a", port), hostname="127.0.0.1", port_map={"grpc": port})
        with pytest.raises(CallFailed):
            await caller.ask(tablet, calls.REPLICATION_STATUS, calls.Nothing(), 1.0)

    # Nobody listens on these.
    for port in (1, 2, 3, 4):
        await ask(port)
    assert caller.connections == 2
    await asyncio.gather(*map(ask, (5, 6, 7)))
    assert caller.connections == 2
    await caller.close()
    assert caller.connections == 0


async def test_an_answer_that_cannot_be_read_is_no_answer():
    import grpc

    from hanse.vitess.tablets.grpc_calling import GrpcCaller

    async def garbage(_request, _context):
        return b"\xff\xff\xff"

    class Anything(grpc.GenericRpcHandler):
        def service(self, handler_call_details):
            return grpc.unary_unary_rpc_method_handler(garbage)

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Anything(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    caller = GrpcCaller()
    tablet = Tablet(alias=TabletAlias("a", 1), hostname="127.0.0.1", port_map={"grpc": port})
    try:
        with pytest.raises(CallFailed, match="cannot be read"):
            await caller.ask(tablet, calls.REPLICATION_STATUS, calls.Nothing(), 5.0)
    finally:
        await caller.close()
        await server.stop(None)
