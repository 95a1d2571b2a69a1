"""The embedded server as the bench meets it: SQLite with a sync of every commit, HTTPS, a process of its own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from hanse.cli.loading import settle, undisturbed

with undisturbed():
    from hanse.apiserver import ApiServer, CertificateAuthority, Identity, SqliteStorage
    from hanse.apiserver.server import load_listener
    from hanse.cli.running import run
    from hanse.kube.runtime import SystemRuntime


async def serve(folder: Path) -> None:
    """Serve from a folder until the process is ended, as `hanse apiserver` does; prints address and token."""
    runtime = SystemRuntime()
    loading = asyncio.create_task(runtime.in_thread(load_listener))
    authority = CertificateAuthority.open(folder / "pki", runtime=runtime)
    storage = SqliteStorage(folder / "db", synchronous="FULL")
    server = await ApiServer.open(name="bench", storage=storage, runtime=runtime)
    await loading
    await server.serve(credentials=authority.serving(runtime=runtime))
    (folder / "ca.crt").write_bytes(authority.certificate_pem)
    print(server.url, server.token_for(Identity("admin", ("system:masters",))), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    settle()
    run(lambda: serve(Path(sys.argv[1])))
