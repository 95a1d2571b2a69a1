"""`hanse agent admission`: admits the pods of one cluster that run elsewhere, beside its API server."""

from __future__ import annotations

import ssl
from pathlib import Path

import click

from hanse.cli.agent_options import beside, beside_options, client_of
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import log_to, run, until_signalled
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.log import Log
from hanse.kube.resources import SECRETS
from hanse.pods.admission.certificate_secret import SECRET, CertificateSecret, read_certificate
from hanse.pods.admission.server import AdmissionServer
from hanse.pods.installing.admission_call import SERVICE_NAMES, names_in
from hanse.pods.installing.admission_pod import ADMISSION_PORT

log = Log("hanse")


@click.command("admission")
@click.option("--cluster", required=True, metavar="NAME", help="The name under which the cluster has joined.")
@click.option("--address", default="0.0.0.0", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=ADMISSION_PORT, show_default=True, help="The port to listen on."
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="A name or address by which the API server calls it (repeat; default: those of its certificate, else of its "
    "Service).",
)
@beside_options
def command(
    cluster: str,
    address: str,
    port: int,
    names: tuple[str, ...],
    kubeconfig: Path | None,
    context: str,
    log_format: str,
) -> None:
    """Admit the pods of a cluster that run elsewhere.

    It asks nobody but the API server of that cluster: pods are made there whatever becomes of the federation. Any
    number may run beside one cluster; they share a certificate in a Secret of the cluster and renew it in time.
    `hanse doors enable pods` has the API server call it.
    """
    if not cluster.strip():
        raise Misuse("--cluster: it must not be empty: authors of pods are known by the name of their cluster")
    log_to(json=log_format == "json")
    with one_sentence():
        endpoint = beside(kubeconfig, context)
        run(lambda: until_signalled(admit(endpoint, cluster, address, port, names)))


async def admit(endpoint: Endpoint, cluster: str, address: str, port: int, names: tuple[str, ...] = ()) -> None:
    """Admit the pods of one cluster until cancelled; without `names` the server has those of its certificate."""
    client = client_of(endpoint)
    try:
        found = await client.find(SECRETS, SECRET.name, SECRET.namespace)
        shown = read_certificate(found) if found is not None else None
        known = names or (names_in(shown.certificate_pem) if shown is not None else SERVICE_NAMES)
        certificates = CertificateSecret(client, known)
        server = AdmissionServer(
            client, cluster, await certificates.current(), address, port, renew=certificates.current
        )
        log.info("Admitting pods that run elsewhere", cluster=cluster, address=address, port=port, names=list(known))
        await server.run()
    except ssl.SSLError as error:
        raise Failure(
            f"Secret {SECRET}: its certificate cannot be used ({error}); delete it to have one made"
        ) from error
    except OSError as error:
        raise Failure(f"--address, --port: cannot listen on {address}:{port}: {error.strerror or error}") from error
    finally:
        await client.close()
