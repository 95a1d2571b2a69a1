"""What every agent takes: the cluster beside which it runs, and how it writes its log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hanse.cli.failures import Misuse
from hanse.kube.auth.service_account import in_cluster_endpoint
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.runtime import SystemRuntime

F = TypeVar("F", bound=Callable[..., Any])


def beside_options(command: F) -> F:
    """Add the options that say beside which cluster an agent runs."""
    command = click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", help="How to write the log."
    )(command)
    command = click.option("--context", default="", help="The context in that file (default: its current one).")(
        command
    )
    return click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A kubeconfig of the cluster (default: the service account of the pod).",
    )(command)


def beside(kubeconfig: Path | None, context: str) -> Endpoint:
    """Return the API server beside which an agent runs; raises Misuse and KubeconfigError."""
    if context and kubeconfig is None:
        raise Misuse("--context: needs --kubeconfig")
    return Kubeconfig.load(kubeconfig).endpoint(context) if kubeconfig else in_cluster_endpoint()


def client_of(endpoint: Endpoint) -> Client:
    """Open a client as an agent."""
    return Client(HttpTransport(endpoint, user_agent="hanse-agent"), SystemRuntime())
