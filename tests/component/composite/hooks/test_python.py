"""Python hooks in processes of their own: what they may do, what it costs them, and whom it harms."""

import asyncio
import os

import pytest

from hanse.composite.hooks.calling import HookFailed, HookParts
from hanse.composite.hooks.python import python_hook
from hanse.composite.spec import PythonSpec, SourceSpec
from hanse.kube.runtime import SystemRuntime
from tests.unit.composite.hooks.stored import Stored, key

MEGABYTE = 1024 * 1024
ROOT = {"kind": "CatSet", "metadata": {"namespace": "shop", "name": "web"}}
TITLE = 'the Python function "sync" of the controller\'s inline code'


@pytest.fixture
async def opened():
    """Opens hooks that are closed in the end; whoever answers has all the time of a slow machine."""
    hooks = []

    def made(code="", source=None, stored=None, *, timeout=60.0, memory=96 * MEGABYTE, **parts):
        spec = PythonSpec(source or SourceSpec(inline=code), "sync", timeout=timeout, memory=memory)
        hooks.append(python_hook(spec, HookParts(SystemRuntime(), stored or Stored(), trusted=True, **parts)))
        return hooks[-1]

    yield made
    for hook in hooks:
        await hook.close()


async def failure(hook, request=None):
    with pytest.raises(HookFailed) as failed:
        await hook.call(request or {}, ROOT)
    return str(failed.value)


HOSTILE = """
import ctypes, os, signal, socket, sys

def sync(request):
    match request.get("do"):
        case "raise":
            print("I looked", end=" ")
            print("and found nothing", file=sys.stderr)
            return request["nothing"]
        case "print":
            while True:
                print("again" * 100000)
        case "answer":
            return {"x": "x" * (request["megabytes"] * 1024 * 1024)}
        case "allocate":
            kept = []
            while True:
                kept.append(bytearray(1024 * 1024))
        case "fork":
            os.fork()
            return {"forked": True}
        case "exit":
            print("farewell", flush=True)
            os._exit(7)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "look around":
            return {
                "environment": sorted(os.environ),
                "stdin": sys.stdin.read(),
                "folder": os.getcwd(),
                "leads": os.getpgid(0) == os.getpid(),
                "dear": sorted({"aiohttp", "asyncio", "hanse.kube", "orjson", "inspect"} & set(sys.modules)),
                "interfaces": [name for _, name in socket.if_nameindex()],
            }
    return {"pid": os.getpid()}
"""


async def test_a_hostile_function_harms_itself_alone(opened):
    hook = opened(HOSTILE, workers=1)
    first = await hook.call({}, ROOT)

    # What it says and does wrong in an orderly way costs it no new process ...
    assert await failure(hook, {"do": "raise"}) == (
        f"{TITLE} raised KeyError: 'nothing' (line 9 of inline.py); it printed \"I looked and found nothing\""
    )
    talkative = await failure(hook, {"do": "print"})
    assert talkative.startswith(
        f"{TITLE} raised OSError: [Errno 27] File too large (line 12 of inline.py); it printed "
    )
    assert len(talkative) < 600
    much = await failure(hook, {"do": "answer", "megabytes": 17})
    assert much == f"{TITLE} answered with 17.0 MB, and 16 MB is the most"
    assert await hook.call({"do": "fork"}, ROOT) == {"forked": True}
    assert await hook.call({}, ROOT) == first

    # ... and what is worse costs it that.
    for greedy in ({"do": "allocate"}, {"do": "answer", "megabytes": 100}):
        assert await failure(hook, greedy) == f"{TITLE} used more than 96 MB of memory"
    assert await failure(hook, {"do": "exit"}) == (f'{TITLE} ended its process with exit code 7; it printed "farewell"')
    assert await failure(hook, {"do": "crash"}) == f"{TITLE} crashed its process (SIGSEGV)"
    assert (await hook.call({}, ROOT))["pid"] != first["pid"]


async def test_nothing_of_ours_is_within_its_reach_and_little_is_loaded(opened, monkeypatch):
    monkeypatch.setenv("HANSE_SECRET", "opensesame")

    found = await opened(HOSTILE).call({"do": "look around"}, ROOT)

    # Where the machine forbids it, the network is not cut off.
    assert found.pop("interfaces")
    assert found == {
        "environment": ["GOGC", "GOMAXPROCS", "GOMEMLIMIT", "HOME", "LANG", "PATH"],
        "stdin": "",
        "folder": "/",
        "leads": True,
        "dear": [],
    }


async def test_a_function_that_never_answers_is_ended_with_all_it_started(opened, tmp_path):
    told = tmp_path / "pids"
    os.mkfifo(told)
    hanging = (
        f"import os, subprocess, time\n"
        f"def sync(r):\n"
        f"    child = subprocess.Popen(['sleep', '600'])\n"
        f"    open({str(told)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"    print('I am waiting', flush=True)\n"
        f"    time.sleep(600)"
    )
    hook = opened(hanging)
    call = asyncio.create_task(hook.call({}, ROOT))
    worker, child = (int(each) for each in (await asyncio.to_thread(told.read_text)).split())

    # Its controller's end is such an end, and nobody else's hook waits for it.
    assert "pid" in await opened(HOSTILE).call({}, ROOT)
    assert not call.done()
    await hook.close()

    with pytest.raises(HookFailed, match="is not called any more, since its controller has ended"):
        await call
    for pid in (worker, child):
        await gone(pid)


async def gone(pid):
    """Wait until a process has ended: reaped, or left for the machine's first process to reap."""
    async with asyncio.timeout(60):
        while not _has_ended(pid):  # noqa: ASYNC110 - a process of another family tells nobody
            await asyncio.sleep(0.01)


def _has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def test_a_function_that_takes_too_long_is_told_so(opened):
    hook = opened("def sync(r):\n    while True: pass", timeout=0.05)

    assert await failure(hook) == f"{TITLE} took longer than 0.05 s"


async def test_two_calls_run_at_once_and_a_third_waits_for_the_first_that_is_free(opened, tmp_path):
    meeting = (
        "import os, time\n"
        f"folder = {str(tmp_path)!r}\n"
        "def sync(r):\n"
        "    open(os.path.join(folder, r['me']), 'w').close()\n"
        "    while r['waits'] not in os.listdir(folder):\n"
        "        time.sleep(0.005)\n"
        "    return {'pid': os.getpid()}\n"
    )
    hook = opened(meeting)

    calls = [{"me": "a", "waits": "b"}, {"me": "b", "waits": "a"}, {"me": "c", "waits": "a"}]
    a, b, c = await asyncio.gather(*(hook.call(each, ROOT) for each in calls))

    assert a["pid"] != b["pid"]
    assert c["pid"] in (a["pid"], b["pid"])


async def test_the_answer_to_a_call_that_was_given_up_is_not_taken_for_the_next_ones(opened, tmp_path):
    told = tmp_path / "called"
    os.mkfifo(told)
    code = (
        "import time\n"
        "def sync(r):\n"
        "    if 'tell' in r:\n"
        "        open(r['tell'], 'w').write('now')\n"
        "        time.sleep(0.05)\n"
        "    return {'of': r['me']}\n"
    )
    hook = opened(code, workers=1)
    call = asyncio.create_task(hook.call({"me": 1, "tell": str(told)}, ROOT))
    await asyncio.to_thread(told.read_text)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert await hook.call({"me": 2}, ROOT) == {"of": 2}


async def test_code_that_changes_is_loaded_anew(opened, tmp_path):
    file = tmp_path / "web.py"
    file.write_text("def sync(r): return {'is': 1}")
    hook = opened(source=SourceSpec(path=str(file)))

    assert await hook.call({}, ROOT) == {"is": 1}
    file.write_text("def sync(r): return {'is': 22}")
    assert await hook.call({}, ROOT) == {"is": 22}
    file.unlink()
    assert await failure(hook) == f'the Python function "sync" of {file} cannot be read: No such file or directory'


async def test_code_in_a_config_map_follows_it(opened):
    stored = Stored()
    hook = opened(source=SourceSpec(config_map=key("hooks", "sync.py")), stored=stored)

    title = 'the Python function "sync" of key "sync.py" of ConfigMap shop/hooks'
    assert await failure(hook) == f"{title} has no code: there is no ConfigMap shop/hooks"
    for number in (1, 2):
        stored.put(
            "ConfigMap", "hooks", {"sync.py": "import n\ndef sync(r): return {'is': n.n}", "n.py": f"n={number}"}
        )
        assert await hook.call({}, ROOT) == {"is": number}


async def test_processes_that_nobody_asks_are_ended(opened):
    hook = opened(HOSTILE, idle_seconds=0.0)
    first = await hook.call({}, ROOT)

    await gone(first["pid"])

    assert (await hook.call({}, ROOT))["pid"] != first["pid"]
