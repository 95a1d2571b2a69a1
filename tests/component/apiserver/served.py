"""A program that serves one API server from a folder until it is ended: for tests that kill it, and for kubectl."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import yaml

from hanse.apiserver import ApiServer, CertificateAuthority, Identity, SqliteStorage
from hanse.apiserver.credentials import kubeconfig_cluster, kubeconfig_user
from hanse.kube.runtime import SystemRuntime


async def main(folder: Path, port: int) -> None:
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(folder / "pki", runtime=runtime)
    server = await ApiServer.open(name="served", storage=SqliteStorage(folder / "db"), runtime=runtime)
    await server.serve(port=port, credentials=authority.serving(runtime=runtime))
    admin = authority.client(Identity("admin", ("system:masters",)), runtime=runtime)
    users = {
        "admin": kubeconfig_user(certificate=admin),
        "bob": kubeconfig_user(token=server.token_for(Identity("bob"))),
    }
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": kubeconfig_cluster(server.url, authority.certificate_pem)}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in users],
        "current-context": "admin",
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    sys.stdout.write(f"{server.url} {server.token_for(Identity('admin', ('system:masters',)))}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
