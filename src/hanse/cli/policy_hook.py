"""`hanse policy-hook`: asks an external policy engine about every object that is written to a host."""

from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path

import click
import orjson
import yaml
from aiohttp import web

from hanse.cli.connection import host_endpoint, host_options
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.running import run, until_signalled
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.runtime import SystemRuntime
from hanse.kube.server_log import SERVER_LOG
from hanse.native.scheduling_policy import BadReview, PolicyHook, read_review, read_settings, webhook_manifest

_PATH = "/admit"


@click.command("policy-hook")
@click.option("--config", required=True, type=click.Path(path_type=Path), help="kubeconfig: and retryBackoff: as YAML.")
@click.option("--tls-cert", required=True, type=click.Path(path_type=Path), help="The certificate to serve with, PEM.")
@click.option("--tls-key", required=True, type=click.Path(path_type=Path), help="Its key, PEM.")
@click.option("--listen", default="127.0.0.1:8443", show_default=True, help="Address and port to listen on.")
@click.option("--url", default="", help="How the host reaches this hook (default: https:// and the address).")
@click.option("--manifest", is_flag=True, help="Print the webhook configuration for the host, and stop.")
@host_options
def command(
    config: Path,
    tls_cert: Path,
    tls_key: Path,
    listen: str,
    url: str,
    manifest: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Ask an external policy engine at admission, as federation v1's SchedulingPolicy did.

    Apply what --manifest prints to the host; its caBundle is the certificate of --tls-cert.
    """
    for path in (config, tls_cert, tls_key):
        if not path.is_file():
            raise Misuse(f"there is no file {path}")
    if manifest:
        bundle = base64.b64encode(tls_cert.read_bytes()).decode()
        click.echo(
            yaml.safe_dump(webhook_manifest(url or f"https://{listen}{_PATH}", bundle), sort_keys=False), nl=False
        )
        return
    try:
        settings = read_settings(config.read_text())
    except ValueError as error:
        raise Misuse(f"{config}: {error}") from error
    with one_sentence():
        engine = Kubeconfig.load(config.parent / settings.kubeconfig).endpoint()
        host = host_endpoint(data_dir, kubeconfig, context)
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(tls_cert, tls_key)
        run(lambda: until_signalled(_serve(host, engine, settings.backoff_seconds, listen, tls)))


async def _serve(host: Endpoint, engine: Endpoint, backoff: float, listen: str, tls: ssl.SSLContext) -> None:
    runtime = SystemRuntime()
    client, transport = Client(HttpTransport(host), runtime), HttpTransport(engine)
    address, _, port = listen.rpartition(":")
    runner = web.AppRunner(application(PolicyHook(client, transport, runtime, backoff)), logger=SERVER_LOG)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, int(port), ssl_context=tls).start()
        click.echo(f"asking {engine.server} about what is written to {host.server}, on {listen}")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
        await transport.close()
        await client.close()


def application(hook: PolicyHook) -> web.Application:
    """Return the web application that answers admission reviews."""

    async def admit(request: web.Request) -> web.Response:
        try:
            review = read_review(await request.read())
        except BadReview as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response(body=orjson.dumps(await hook.review(review)), content_type="application/json")

    app = web.Application(client_max_size=8 * 1024**2)
    app.router.add_post(_PATH, admit)
    return app
