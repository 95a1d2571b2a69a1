"""Unmodified kubectl streams: exec, attach, cp's way in, logs -f, port-forward and create token."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import yaml

from hanse.apiserver import ApiServer, CertificateAuthority
from hanse.apiserver.credentials import kubeconfig_cluster, kubeconfig_user
from hanse.apiserver.pod_doors import PodSession
from hanse.kube.runtime import SystemRuntime
from tests.component.apiserver.conftest import ADMIN, Api, pod

ROOT = Path(__file__).parents[3]


def _kubectl() -> str:
    """Return the newest kubectl here: the built one, else PATH's."""
    built = subprocess.run([ROOT / "components" / "build", "--path"], capture_output=True, text=True, check=True)
    candidate = f"{built.stdout.strip()}/kubectl"
    return candidate if os.access(candidate, os.X_OK) else shutil.which("kubectl") or "kubectl"


class Kubectl:
    """kubectl with a kubeconfig of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
        self._binary = _kubectl()

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            self._binary, *arguments, env=self._environment, stdin=pipe, stdout=pipe, stderr=pipe
        )

    async def __call__(self, *arguments: str, typed: bytes = b"") -> tuple[int, str, str]:
        process = await self.start(*arguments)
        async with asyncio.timeout(20):
            out, err = await process.communicate(typed)
        return process.returncode or 0, out.decode(), err.decode()


@pytest.fixture
async def kubectl(server: ApiServer, api: Api, tmp_path: Path) -> Kubectl:
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(tmp_path, runtime=runtime)
    await server.serve(credentials=authority.serving(runtime=runtime))
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": kubeconfig_cluster(server.url, authority.certificate_pem)}],
        "users": [{"name": "c", "user": kubeconfig_user(token=server.token_for(ADMIN))}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "current-context": "c",
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    await api.create("/api/v1/namespaces/default/pods", pod("web", nodeName="n"))
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await api.patch("/api/v1/namespaces/default/pods/web/status", running)
    return Kubectl(tmp_path / "config")


async def shell(session: PodSession) -> int:
    if not session.command:
        await session.write(b"attached\n")
        return 0
    await session.write_error(f"ran {' '.join(session.command)}\n".encode())
    while data := await session.read():
        await session.write(data.upper())
    return 3 if "fail" in session.command else 0


async def test_exec_carries_input_output_errors_and_the_exit_code(server: ApiServer, kubectl: Kubectl) -> None:
    server.pods.exec = shell
    assert await kubectl("exec", "-i", "web", "--", "cat", "-x", typed=b"hello\n") == (0, "HELLO\n", "ran cat -x\n")
    code, _, err = await kubectl("exec", "web", "--", "fail")
    assert (code, err) == (3, "ran fail\ncommand terminated with exit code 3\n")
    many = b"0123456789abcdef" * 65536
    code, out, _ = await kubectl("exec", "-i", "web", "--", "cat", typed=many)
    assert (code, out) == (0, many.decode().upper())


async def test_exec_without_anybody_who_runs_pods_says_so(kubectl: Kubectl) -> None:
    code, _, err = await kubectl("exec", "web", "--", "ls")
    assert code == 1
    assert "there is no kubelet that could be asked for exec" in err


async def test_attach_shows_what_runs(server: ApiServer, kubectl: Kubectl) -> None:
    server.pods.attach = shell
    code, out, _ = await kubectl("attach", "web", "-c", "app")
    assert (code, out) == (0, "attached\n")


async def test_logs_are_followed(server: ApiServer, kubectl: Kubectl) -> None:
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def printed() -> AsyncIterator[bytes]:
        while line := await lines.get():
            yield line

    async def logs(namespace: str, name: str, asked: Mapping[str, str]) -> AsyncIterator[bytes]:
        assert (asked["follow"], asked["tailLines"], asked["container"]) == ("true", "5", "app")
        return printed()

    server.pod_logs = logs
    process = await kubectl.start("logs", "-f", "--tail=5", "web")
    assert process.stdout is not None
    async with asyncio.timeout(20):
        for line in (b"one\n", b"two\n"):
            lines.put_nowait(line)
            assert await process.stdout.readline() == line
        lines.put_nowait(b"")
        assert await process.wait() == 0


async def test_ports_are_forwarded(server: ApiServer, kubectl: Kubectl) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello " + await reader.readline())
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    inner = listener.sockets[0].getsockname()[1]

    async def dial(namespace: str, name: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if port != 80:
            raise ConnectionRefusedError(111, "Connection refused")
        return await asyncio.open_connection("127.0.0.1", inner)

    server.pods.dial = dial
    process = await kubectl.start("port-forward", "pod/web", ":80", ":81")
    assert process.stdout is not None
    assert process.stderr is not None
    outer: dict[str, int] = {}
    async with asyncio.timeout(20):
        while len(outer) < 2:
            words = (await process.stdout.readline()).decode().split()
            if words[2].startswith("127.0.0.1:"):
                outer[words[-1]] = int(words[2].rpartition(":")[2])
        for name in (b"bob\n", b"eve\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", outer["80"])
            writer.write(name)
            assert await reader.read() == b"hello " + name
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", outer["81"])
        assert await reader.read() == b""
        writer.close()
        told = ""
        while "Connection refused" not in told:
            told = (await process.stderr.readline()).decode()
        assert "an error occurred forwarding" in told
    process.terminate()
    await process.wait()
    listener.close()


async def test_tokens_are_created_and_used(kubectl: Kubectl) -> None:
    assert (await kubectl("create", "serviceaccount", "robot"))[0] == 0
    code, token, _ = await kubectl("create", "token", "robot", "--duration=20m", "--audience=a", "--audience=b")
    assert (code, token.count(".")) == (0, 2)
    _, token, _ = await kubectl("create", "token", "robot")
    # The kubeconfig's own credentials are the token's from here on.
    code, out, err = await kubectl(
        "--token", token.strip(), "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"
    )
    assert (code, out) == (0, "system:serviceaccount:default:robot"), err
    code, _, err = await kubectl("create", "token", "robot", "--duration=5m")
    assert code == 1
    assert "may not specify a duration less than 10 minutes" in err


async def test_somebody_elses_rights_can_be_tried_out(kubectl: Kubectl) -> None:
    assert (await kubectl("create", "rolebinding", "r", "--clusterrole=view", "--group=devs"))[0] == 0
    asked = ("auth", "can-i", "get", "pods", "--as=bob", "--as-group=staff")
    assert (await kubectl(*asked))[1] == "no\n"
    assert (await kubectl(*asked, "--as-group=devs"))[1] == "yes\n"
    code, _, err = await kubectl("delete", "pod", "web", "--as=bob", "--as-group=devs")
    assert code == 1
    assert 'User "bob" cannot delete resource "pods" in API group "" in the namespace "default"' in err
