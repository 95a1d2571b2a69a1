"""`hanse apiserver`: one Kubernetes API server by itself, its backup and its restoration."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from hanse.cli.embedded.folder import Folder
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.loading import settle, undisturbed

F = TypeVar("F", bound=Callable[..., Any])

_STATE = "apiserver.json"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_BACKUP_SECONDS = 600.0


def _data_dir(*, required: bool = True) -> Callable[[F], F]:
    return click.option(
        "--data-dir",
        required=required,
        type=click.Path(path_type=Path, file_okay=False),
        help="The folder of the API server: its store, its keys and its kubeconfig.",
    )


@click.group("apiserver", invoke_without_command=True)
@_data_dir(required=False)
@click.option("--port", type=click.IntRange(1, 65535), help="The port (default: the one it had before, else any free).")
@click.option("--in-memory", is_flag=True, help="Keep objects in memory only; they end with the process.")
@click.option("--name", default=None, help="The name of the cluster and of its context (default: apiserver).")
@click.pass_context
def command(ctx: click.Context, data_dir: Path | None, port: int | None, in_memory: bool, name: str | None) -> None:
    """Run one Kubernetes API server by itself, in the foreground, until Ctrl-C or SIGTERM.

    Writes DATA_DIR/kubeconfig and listens on loopback. Started again on the same folder it is where it was.
    """
    if ctx.invoked_subcommand is not None:
        return
    if data_dir is None:
        raise click.UsageError("Missing option '--data-dir'.", ctx)
    if name is not None and not _NAME.fullmatch(name):
        raise Misuse(f"--name: {name!r} must be lower-case letters, digits, '-' and '.'")
    folder = _own_folder(data_dir)
    with folder.held():
        _run(folder, port, name, in_memory=in_memory)


@command.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_data_dir()
def backup(file: Path, data_dir: Path) -> None:
    """Write all objects of an API server to FILE, whether it runs or not."""
    folder = _own_folder(data_dir)
    if file.exists():
        raise Misuse(f"{file} exists already")
    if folder.holder() is not None:
        _download(folder, file)
    else:
        _copy(folder, file)
    click.echo(f"the objects of {folder.path} are in {file}; `hanse apiserver restore {file}` brings them back")


@command.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_data_dir()
@click.option("--force", is_flag=True, help="Replace what the folder holds.")
def restore(file: Path, data_dir: Path, force: bool) -> None:
    """Make the store of a stopped API server from FILE, a backup."""
    from hanse.apiserver.storage import StorageError, restore_snapshot
    from hanse.cli.embedded.servers import STORE

    folder = _own_folder(data_dir)
    with folder.held():
        store = folder.path / STORE
        if store.exists() and not force:
            raise Misuse(f"{folder.path} holds objects already; --force replaces them with those of the backup")
        try:
            count = restore_snapshot(file, store)
        except StorageError as error:
            raise Failure(str(error)) from error
    click.echo(f"{count} objects are in {folder.path}; `hanse apiserver --data-dir {folder.path}` serves them")


def _own_folder(path: Path) -> Folder:
    folder = Folder(path)
    if (folder.path / "federation.json").exists():
        raise Misuse(f"{folder.path} is the folder of a federation (`hanse up`); an API server needs one of its own")
    return folder


def _run(folder: Folder, port: int | None, name: str | None, *, in_memory: bool) -> None:
    with undisturbed():
        from hanse.apiserver.storage import StorageError
        from hanse.cli.embedded import servers  # noqa: F401 - loaded here, for `_serve`
        from hanse.cli.running import log_to, run, until_signalled
    settle()
    log_to()
    state = _state(folder)
    os.umask(0o077)
    try:
        chosen = name or str(state.get("name", "apiserver"))
        run(lambda: until_signalled(_serve(folder, chosen, port, int(state.get("port", 0)), in_memory=in_memory)))
    except StorageError as error:
        raise Failure(str(error)) from error
    except PermissionError as error:
        raise Misuse(f"the data folder {folder.path} cannot be written: {error.strerror}") from error
    click.echo("the API server has stopped", err=True)


def _state(folder: Folder) -> dict[str, Any]:
    try:
        state = orjson.loads((folder.path / _STATE).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return state if isinstance(state, dict) else {}


async def _serve(folder: Folder, name: str, port: int | None, before: int, *, in_memory: bool) -> None:
    import asyncio

    from hanse.apiserver.server import load_listener
    from hanse.cli.embedded.kubeconfig import kubeconfig_for
    from hanse.cli.embedded.servers import Server
    from hanse.kube.runtime import SystemRuntime

    runtime = SystemRuntime()
    # A store waits for the disk and the loading for the processor: together they take little more than one of them.
    loading = asyncio.create_task(runtime.in_thread(load_listener))
    server = await Server.open(name, folder.path, runtime, in_memory=in_memory)
    try:
        await loading
        try:
            await server.serve(port or before, runtime, exactly=port is not None)
        except OSError as error:
            raise Failure(
                f"port {port} cannot be listened on: {os.strerror(error.errno or 0).lower()}; "
                "choose another --port, or none to take any that is free"
            ) from error
        folder.write_file("kubeconfig", kubeconfig_for({name: server.endpoint(runtime)}, name))
        folder.write_file(_STATE, orjson.dumps({"name": name, "port": server.port}))
        click.echo(_ready(folder, name, server.api.url, in_memory=in_memory))
        await asyncio.Event().wait()
    finally:
        await server.api.close()


def _ready(folder: Folder, name: str, url: str, *, in_memory: bool) -> str:
    kept = "its objects are gone then" if in_memory else f"its data stays in {folder.path}"
    return f"""The API server {name} is ready at {url}. In another terminal:

  export KUBECONFIG={folder.kubeconfig}     # context: {name}
  kubectl get namespaces
  kubectl create deployment web --image=nginx     # stored; nothing runs it here
  hanse apiserver backup FILE --data-dir {folder.path}

Ctrl-C stops it; {kept}."""


def _download(folder: Folder, file: Path) -> None:
    from hanse.apiserver.verbs.backup import PATH
    from hanse.cli.connection import connected
    from hanse.cli.running import run
    from hanse.kube.errors import error_from_body
    from hanse.kube.kubeconfig import Kubeconfig
    from hanse.kube.transport import Request

    async def download() -> None:
        async with connected(Kubeconfig.load(folder.kubeconfig).endpoint("")) as client:
            stream = await client.transport.stream(Request("GET", PATH), _BACKUP_SECONDS)
            if stream.status != 200:
                raise error_from_body(stream.status, b"".join([chunk async for chunk in stream.chunks()]))
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                async for chunk in stream.chunks():
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())

    with one_sentence():
        try:
            run(download)
        except OSError as error:
            raise Failure(f"{file} cannot be written: {error.strerror}") from error


def _nobody_listens(change: object) -> None:
    """Let a change pass; a store that is only read has none."""


def _copy(folder: Folder, file: Path) -> None:
    from hanse.apiserver import SqliteStorage
    from hanse.apiserver.storage import StorageError
    from hanse.cli.embedded.servers import STORE
    from hanse.cli.running import run
    from hanse.kube.runtime import SystemRuntime

    if not (folder.path / STORE).exists():
        raise Misuse(f"there is no API server in {folder.path}")

    async def copy() -> None:
        storage = SqliteStorage(folder.path / STORE)
        await storage.open(SystemRuntime(), _nobody_listens)
        try:
            await storage.backup(file)
        finally:
            await storage.close()

    with folder.held():
        try:
            run(copy)
        except (StorageError, sqlite3.Error) as error:
            raise Failure(str(error)) from error
