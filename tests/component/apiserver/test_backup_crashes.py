"""A store under writers, killed without warning: afterwards it is the acknowledged history, and nothing else."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import pytest

from hanse.apiserver import ApiServer, SqliteStorage
from hanse.apiserver.storage import Change
from hanse.kube.runtime import SystemRuntime
from tests.component.apiserver.conftest import ADMIN, Api, config

CONFIGS = "/api/v1/namespaces/default/configmaps"
KEYS = "abcdefgh"
# A line for every attempt before it begins, and one for every acknowledgement: `? n key` and `! n key revision`.
WRITER = """
import asyncio, resource, signal, sys
from pathlib import Path
from hanse.apiserver.storage import SqliteStorage, Stale
from hanse.kube.runtime import SystemRuntime

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()

async def write(storage, writer):
    count = 0
    while True:
        count += 1
        path = "abcdefgh"[(writer * 3 + count) % 8]
        held = storage.get("b", path)
        number = f"{writer}.{count}"
        deletes = held is not None and count % 5 == 0
        say("?", number, path, int(deletes))
        body = b'{"metadata":{"name":"%b"},"data":"%b"}' % (number.encode(), b"x" * PADDING)
        try:
            if deletes:
                record = await storage.delete("b", path, held.revision, body)
            else:
                record = await storage.write("b", path, body, held.revision if held else 0)
        except Stale:
            say("-", number)
            continue
        say("!", number, path, record.revision)

async def main(path):
    storage = SqliteStorage(path)
    await storage.open(SystemRuntime(), lambda change: None)
    await asyncio.gather(*(write(storage, writer) for writer in range(6)))

PADDING, LIMIT = int(sys.argv[2]), int(sys.argv[3])
if LIMIT:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
asyncio.run(main(Path(sys.argv[1])))
"""


async def crash(path: Path, after: int) -> list[list[str]]:
    """Run writers until so many writes were acknowledged, kill them, and return what they said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(path), "0", "0", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    said: list[list[str]] = []
    acknowledged = 0
    async with asyncio.timeout(30):
        while acknowledged < after:
            words = (await process.stdout.readline()).decode().split()
            said.append(words)
            acknowledged += words[0] == "!"
        process.kill()
        said += [
            line.decode().split()
            for line in (await process.stdout.read()).splitlines(keepends=True)
            if line[-1:] == b"\n"
        ]
        await process.wait()
    return said


# Each is three processes; the others run where there is time.
@pytest.mark.parametrize("round_number", [0, *(pytest.param(each, marks=pytest.mark.kubernetes) for each in (1, 2, 3))])
async def test_after_kill_9_the_store_is_the_acknowledged_history(tmp_path: Path, round_number: int) -> None:
    moments = random.Random(round_number)
    seen: dict[str, tuple[int, str]] = {}
    for _ in range(3):
        said = await crash(tmp_path / "db", moments.randrange(1, 150))
        settled = {words[1] for words in said if words[0] in "!-"}
        # What was tried and never answered may or may not have happened.
        open_attempts = {words[1] for words in said if words[0] == "?"} - settled
        deleted = {words[1] for words in said if words[0] == "?" and words[3] == "1"}
        for words in said:
            if words[0] == "!":
                revision, key = int(words[3]), words[2]
                if revision > seen.get(key, (0, ""))[0]:
                    seen[key] = (revision, "" if words[1] in deleted else words[1])
        storage = SqliteStorage(tmp_path / "db")
        changes: list[Change] = []
        await storage.open(SystemRuntime(), changes.append)
        for key in KEYS:
            record = storage.get("b", key)
            revision, number = seen.get(key, (0, ""))
            name = record.value.split(b'"name":"')[1].split(b'"')[0].decode() if record else ""
            if record and record.revision > revision:
                assert name in open_attempts
                seen[key] = (record.revision, name)
            elif record:
                assert (record.revision, name) == (revision, number)
            elif number:
                # Gone though its last acknowledged write was no deletion: then one was under way.
                assert open_attempts & deleted
                seen[key] = (storage.revision, "")
        assert storage.revision >= max((revision for revision, _ in seen.values()), default=0)
        await storage.close()


async def test_a_full_store_answers_as_etcd_does_and_keeps_serving(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "db", quota=1_500_000)
    server = await ApiServer.open(name="full", storage=storage, runtime=SystemRuntime())
    api = Api(server.connect(ADMIN))
    acknowledged = []
    for count in range(1000):
        answered = await api.create(CONFIGS, config(f"c{count}", data={"a": "x" * 50_000}))
        if answered.code != 201:
            break
        acknowledged.append(f"c{count}")
    assert answered.code == 500
    assert answered.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "etcdserver: mvcc: database space exceeded",
        "code": 500,
    }
    listed = {one["metadata"]["name"] for one in (await api.get(CONFIGS)).body["items"]}
    assert set(acknowledged) <= listed
    assert f"c{len(acknowledged)}" not in listed
    await server.close()


async def test_a_disk_that_refuses_to_take_more_never_spoils_what_it_holds(tmp_path: Path) -> None:
    """Writes fail in the file system itself, at a size limit that the kernel enforces."""
    arguments = [sys.executable, "-c", WRITER, str(tmp_path / "db"), "3000", "300000"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*arguments, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    assert b"StorageError" in err or b"OutOfSpace" in err
    acknowledged = [line.split() for line in out.decode().splitlines() if line.startswith("!")]
    storage = SqliteStorage(tmp_path / "db")
    await storage.open(SystemRuntime(), lambda change: None)
    newest: dict[str, int] = {}
    for _, _, key, revision in acknowledged:
        newest[key] = max(newest.get(key, 0), int(revision))
    assert len(acknowledged) > 5
    assert storage.revision >= max(newest.values())
    for record in storage.scan("b"):
        assert record.revision >= newest.get(record.path, 0)
    await storage.close()
