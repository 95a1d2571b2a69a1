"""What a program that renders strangers' files may do."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from hanse.rollouts.sources import Limits
from hanse.rollouts.sources.confinement import Confinement, ProgramProblem
from hanse.rollouts.sources.programs import find_program
from hanse.rollouts.sources.settings import MEGABYTE

pytestmark = pytest.mark.timeout(60)

# Everything that can be seen from within, in one start of a program.
LOOK = """
import json, os, resource, socket, sys
found = {
    "environment": sorted(set(os.environ) - {"LC_CTYPE"}),
    "home": os.environ["HOME"] == os.getcwd(),
    "input": sys.stdin.read(),
    "leads": os.getsid(0) == os.getpid(),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
}
try:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5):
        found["network"] = True
except OSError:
    found["network"] = False
print(json.dumps(found))
"""


async def run(folder, program, *arguments, **limits):
    command = [sys.executable, "-I", "-S", "-c", program, *arguments]
    return await Confinement(folder, Limits(**limits)).run(command)


async def test_a_program_sees_nothing_of_the_control_plane(tmp_path, monkeypatch):
    for name in ("KUBECONFIG", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "HELM_PLUGINS"):
        monkeypatch.setenv(name, "x")
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        seen = json.loads(await run(tmp_path, LOOK, str(server.sockets[0].getsockname()[1])))
    assert seen["environment"] == ["GOMAXPROCS", "GOMEMLIMIT", "HOME", "LANG", "TMPDIR"]
    assert (seen["home"], seen["input"], seen["leads"]) == (True, "", True)
    assert (seen["files"], seen["core"]) == (256, 0)
    assert seen["network"] is not may_unshare()


def may_unshare():
    """Whether this machine lets a process have a network of its own."""
    probe = "import ctypes; l = ctypes.CDLL(None); exit(l.unshare(0x40000000) and l.unshare(0x50000000))"
    return sys.platform == "linux" and subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


@pytest.mark.parametrize(
    ("program", "limits", "message", "transient"),
    [
        ("while True: pass", {"render_seconds": 0.3}, "it took longer than 0.3 s", True),
        ("print('x' * 3000000)", {"output_bytes": MEGABYTE}, "it writes more than 1 MB", False),
        (
            "import sys\ntry: x = bytearray(200_000_000)\nexcept MemoryError: sys.exit('out of memory')",
            {"render_memory_bytes": 100 * MEGABYTE},
            "it used more than 100 MB of memory",
            False,
        ),
        ("import sys; sys.exit('Error: no')", {}, "it failed with code 1", False),
    ],
)
async def test_a_program_that_goes_too_far_is_ended(tmp_path, program, limits, message, transient):
    with pytest.raises(ProgramProblem) as caught:
        await run(tmp_path, program, **limits)
    assert (str(caught.value), caught.value.transient) == (message, transient)


async def test_what_a_program_started_ends_with_it(tmp_path):
    os.mkfifo(tmp_path / "life")
    program = """
import os, time
life = open("life", "w")
if os.fork() == 0:
    life.write("both live\\n")
    life.flush()
time.sleep(600)
"""
    task = asyncio.create_task(run(tmp_path, program))
    life = await asyncio.to_thread((tmp_path / "life").open)
    assert await asyncio.to_thread(life.readline) == "both live\n"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Ends when nobody holds the other end any more.
    assert await asyncio.to_thread(life.read) == ""
    life.close()


def test_a_program_is_found_as_given_then_by_its_variable_then_on_the_path_then_as_built(tmp_path, monkeypatch):
    for path in ("given", "named", "bin/helm", "components/helm-v3.9.0/helm"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("#!/bin/sh\n")
        (tmp_path / path).chmod(0o700)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HANSE_CACHE", str(tmp_path))
    monkeypatch.delenv("HANSE_HELM", raising=False)
    assert find_program("helm", "", "HANSE_HELM") == str(tmp_path / "components/helm-v3.9.0/helm")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_program("helm", "", "HANSE_HELM") == str(tmp_path / "bin/helm")
    monkeypatch.setenv("HANSE_HELM", str(tmp_path / "named"))
    assert find_program("helm", "", "HANSE_HELM") == str(tmp_path / "named")
    assert find_program("helm", str(tmp_path / "given"), "HANSE_HELM") == str(tmp_path / "given")
    assert find_program("helm", str(tmp_path / "absent"), "HANSE_HELM") is None
