"""Checks are asked over HTTP, and whatever goes wrong is an answer."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from hanse.kube.callable_addresses import guarded_resolver
from hanse.kube.runtime import SeededRuntime
from hanse.rollouts.environment import Check
from hanse.rollouts.execution import Outcome, asking
from hanse.rollouts.execution.asking import HttpAsker

# Whoever hangs does so until then.
END = web.AppKey("end", asyncio.Event)


async def _answer(request: web.Request) -> web.StreamResponse:
    match request.path:
        case "/well":
            return web.json_response({"errors": 1})
        case "/elsewhere":
            raise web.HTTPFound("/well")
        case "/breaks-off":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        case "/hangs":
            await request.app[END].wait()
            return web.Response()
        case "/large":
            return web.Response(body=b"x" * (asking.ANSWER_LIMIT_BYTES + 1))
        case "/prom/api/v1/query" if request.query["query"] == 'rate(errors{app="shop"}[1m])':
            return web.json_response({"data": {"resultType": "vector", "result": [{"value": [1, "0.25"]}]}})
        case _:
            raise web.HTTPServiceUnavailable


@pytest.fixture
async def address() -> AsyncIterator[str]:
    application = web.Application()
    application[END] = asyncio.Event()
    application.router.add_get("/{path:.*}", _answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    application[END].set()
    await runner.cleanup()


@pytest.fixture
async def asker() -> AsyncIterator[HttpAsker]:
    made = HttpAsker(SeededRuntime(), near=True)
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("path", "outcome", "value"),
    [
        ("/well", Outcome.SUCCESS, "HTTP status 200"),
        ("/sick", Outcome.FAILURE, "HTTP status 503"),
        ("/elsewhere", Outcome.FAILURE, "HTTP status 302"),
        ("/large", Outcome.INCONCLUSIVE, "the answer is larger than 1 MiB"),
        ("/breaks-off", Outcome.INCONCLUSIVE, "the connection broke off"),
    ],
)
async def test_an_address_is_asked_and_redirects_are_not_followed(address, asker, path, outcome, value):
    found = await asker.ask(Check("c", http=address + path))

    assert (found.outcome, found.value) == (outcome, value)
    assert found.at > 0


async def test_prometheus_is_asked_its_query(address, asker):
    check = Check("c", prometheus=f"{address}/prom/", query='rate(errors{app="shop"}[1m])', success="result < 0.5")

    found = await asker.ask(check)

    assert (found.outcome, found.value) == (Outcome.SUCCESS, "0.25")


async def test_who_takes_too_long_gives_no_answer(address):
    asker = HttpAsker(SeededRuntime(), near=True, timeout_seconds=0.05)

    found = await asker.ask(Check("c", http=f"{address}/hangs"))
    await asker.close()

    assert (found.outcome, found.value) == (Outcome.INCONCLUSIVE, "no answer within 0.05 seconds")


async def test_nobody_at_the_address_is_no_answer(asker, unused_tcp_port):
    found = await asker.ask(Check("c", http=f"http://127.0.0.1:{unused_tcp_port}/"))

    assert (found.outcome, found.value) == (Outcome.INCONCLUSIVE, "nobody answers at the address")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "localhost", "0.0.0.0"]
)
async def test_nothing_near_the_control_plane_is_asked(address, host):
    asker = HttpAsker(SeededRuntime())
    port = address.rpartition(":")[2]

    found = await asker.ask(Check("c", http=f"http://{host}:{port}/well"))
    await asker.close()

    assert (found.outcome, found.value) == (
        Outcome.INCONCLUSIVE,
        "the host is a loopback or link-local address and is not asked",
    )


async def test_a_name_that_leads_near_the_control_plane_is_not_known():
    resolver = guarded_resolver(loopback=False, refusal=asking.NEAR)

    assert [each["host"] for each in await resolver.resolve("192.0.2.7", 80)] == ["192.0.2.7"]
    with pytest.raises(OSError, match="leads to a loopback or link-local address"):
        await resolver.resolve("169.254.169.254", 80)
