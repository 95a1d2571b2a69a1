"""The address at which a process tells its numbers, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest

from hanse.cli.failures import Failure, Misuse
from hanse.kube.log import Log
from hanse.kube.server_log import SERVER_LOG
from hanse.services.dns.serving import parse_address

log = Log("hanse")

# Metacontroller's own.
DEFAULT_PORT = 9999
PATH = "/metrics"

metrics_option = click.option(
    "--metrics-listen",
    default="",
    metavar="HOST:PORT",
    help=f"Tell Prometheus at http://HOST:PORT{PATH} how the hooks of lambda controllers fare (default: nowhere).",
)


def read_listen(text: str) -> tuple[str, int] | None:
    """Read where to listen, None for nowhere; raises Misuse."""
    try:
        return parse_address(text, DEFAULT_PORT) if text else None
    except ValueError as error:
        raise Misuse(f"--metrics-listen: {error}") from error


@asynccontextmanager
async def served_metrics(registry: CollectorRegistry, listen: tuple[str, int] | None) -> AsyncIterator[str]:
    """Serve the numbers of a registry and of this process while open, and give the address; "" where nowhere."""
    if listen is None:
        yield ""
        return
    ProcessCollector(registry=registry)

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.router.add_get(PATH, answer)
    runner = web.AppRunner(application, access_log=None, logger=SERVER_LOG, shutdown_timeout=1.0)
    await runner.setup()
    try:
        address = await _listening(runner, *listen)
        log.info("Tells metrics", address=address)
        yield address
    finally:
        await runner.cleanup()


async def _listening(runner: web.AppRunner, host: str, port: int) -> str:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise Failure(f"--metrics-listen: cannot listen on {host}:{port}: {error.strerror}") from error
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{runner.addresses[0][1]}{PATH}"
