"""A real Chromium as a client: it looks names up, connects and shows pages as it does for people.

It is driven by the DevTools protocol. So that it asks the federation's DNS server and no other, it runs with a
resolv.conf of its own, which takes a mount namespace and port 53 of a loopback address: both need root.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

from bench.clients.asking import Asker, Place, Unserved, answered_by

_RESOLVER = "127.0.53.53"
_START_SECONDS = 60.0
_NAVIGATION_SECONDS = 30.0
_LISTENING = re.compile(rb"DevTools listening on (ws://\S+)")
_IN_ITS_OWN_NAMES = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
_PAGE = """new Promise(resolve => {
  const tell = () => resolve(document.body.innerText);
  document.readyState === 'complete' ? tell() : addEventListener('load', tell);
})"""


def why_not() -> str:
    """Return why no browser can be a client here, "" where one can."""
    if shutil.which("chromium") is None:
        return "chromium is not installed"
    if os.geteuid() != 0:
        return "a browser with a DNS server of its own needs root"
    return ""


@asynccontextmanager
async def chromium(place: Place, folder: Path) -> AsyncIterator[Asker]:
    """Run a browser that opens the service's page again and again."""
    (folder / "resolv.conf").write_text(f"nameserver {_RESOLVER}\n")
    async with (
        _relay(place),
        _process(folder) as address,
        aiohttp.ClientSession() as session,
        session.ws_connect(address, max_msg_size=0) as socket,
    ):
        tab = await _Tab.open(socket)

        async def ask() -> str:
            return answered_by(f"HTTP/1.1 200 \r\n{await tab.show(place)}", "chromium")

        try:
            yield Asker("Chromium", ask)
        finally:
            await tab.close()


class _Relay(asyncio.DatagramProtocol):
    """Hands DNS questions on to another port, and the answers back."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        task = asyncio.create_task(self._hand_on(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hand_on(self, data: bytes, asker: Any) -> None:
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        there, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Answer(answer), remote_addr=(self._place.dns_host, self._place.dns_port)
        )
        try:
            there.sendto(data)
            async with asyncio.timeout(5):
                self._transport.sendto(await answer, asker)
        except (OSError, TimeoutError):
            return
        finally:
            there.close()


class _Answer(asyncio.DatagramProtocol):
    def __init__(self, answer: asyncio.Future[bytes]) -> None:
        self._answer = answer

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if not self._answer.done():
            self._answer.set_result(data)


@asynccontextmanager
async def _relay(place: Place) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Relay(place), local_addr=(_RESOLVER, 53))
    try:
        yield
    finally:
        transport.close()


@asynccontextmanager
async def _process(folder: Path) -> AsyncIterator[str]:
    """Start a browser and yield where it takes commands."""
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-proxy-server"]
    words += ["--disable-background-networking", "--disable-dev-shm-usage", "--disable-features=HttpsUpgrades"]
    words += ["--remote-debugging-port=0", f"--user-data-dir={folder / 'chromium'}", "about:blank"]
    command = ["unshare", "-m", "sh", "-c", _IN_ITS_OWN_NAMES, "sh", str(folder / "resolv.conf"), *words]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(_START_SECONDS):
            while line := await process.stderr.readline():
                if found := _LISTENING.search(line):
                    break
            else:
                raise Unserved("chromium ended before it took commands")
        drained = asyncio.create_task(process.stderr.read())
        yield found[1].decode()
        drained.cancel()
    finally:
        # It has children of its own, all in its session.
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


class _Tab:
    """One tab, told by one socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._session = ""
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, socket: aiohttp.ClientWebSocketResponse) -> _Tab:
        tab = cls(socket)
        target = await tab._tell("Target.createTarget", url="about:blank")
        attached = await tab._tell("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        tab._session = attached["sessionId"]
        await tab._tell("Page.enable")
        await tab._tell("Network.enable")
        await tab._tell("Network.setCacheDisabled", cacheDisabled=True)
        return tab

    async def show(self, place: Place) -> str:
        """Open the service's page and return its text; raises Unserved with the error that a person would see."""
        try:
            async with asyncio.timeout(_NAVIGATION_SECONDS):
                shown = await self._tell("Page.navigate", url=f"http://{place.name}:{place.port}/")
                if shown.get("errorText"):
                    raise Unserved(shown["errorText"])
                page = await self._tell("Runtime.evaluate", expression=_PAGE, awaitPromise=True)
        except TimeoutError as error:
            raise Unserved(f"no page within {_NAVIGATION_SECONDS:g} s") from error
        return str(page["result"].get("value"))

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _tell(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        addressed = {"sessionId": self._session} if self._session else {}
        await self._socket.send_json({"id": number, "method": method, "params": parameters, **addressed})
        said = await answer
        if "error" in said:
            raise Unserved(f"{method}: {said['error'].get('message')}")
        return said["result"]

    async def _read(self) -> None:
        async for message in self._socket:
            said = message.json()
            if (answer := self._answers.pop(said.get("id", 0), None)) is not None and not answer.done():
                answer.set_result(said)
