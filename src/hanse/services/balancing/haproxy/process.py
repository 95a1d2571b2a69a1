"""The HAProxy process: started, replaced without losing a connection, asked, and missed when it ends.

It is a daemon of its own and does not end with Hanse: whoever comes next finds it by the folder, in which all is.

haproxy.cfg     what the process does, rewritten with every change
haproxy.pid     its id
a.sock, b.sock  where it takes commands; a process that replaces another takes the one that is free
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hanse.kube.runtime import Runtime
from hanse.services.balancing.balancer import BalancerFailure
from hanse.services.balancing.haproxy.commands import parse_facts, parse_servers, parse_statistics
from hanse.services.balancing.haproxy.slots import Slot

_ANSWER_SECONDS = 5.0
_START_SECONDS = 30.0
_GLANCE_SECONDS = 1.0
_LONGEST_BATCH = 4000
_LONGEST_SOCKET_PATH = 100
_LARGEST_ANSWER = 1024 * 1024
_SYSTEM_PROGRAMS = "/usr/sbin:/usr/local/sbin"
_UNBOUND = re.compile(r"frontend port\.(\d+): cannot bind socket \(([^)]*)\)")


class PortsTaken(BalancerFailure):
    """HAProxy could not open some ports: each with what the machine said."""

    def __init__(self, ports: dict[int, str]) -> None:
        super().__init__(f"ports that cannot be opened: {', '.join(map(str, sorted(ports)))}")
        self.ports = ports


@dataclass(frozen=True, slots=True)
class Running:
    """What a running HAProxy says of itself."""

    pid: int
    socket: Path
    # The digest that its configuration carries.
    structure: str
    slots: dict[str, tuple[Slot, ...]]


class HaproxyProcess:
    """The one HAProxy of a folder."""

    def __init__(self, folder: Path, runtime: Runtime, program: str = "haproxy") -> None:
        self.folder = folder.absolute()
        self._sockets = (self.folder / "a.sock", self.folder / "b.sock")
        self._configuration = self.folder / "haproxy.cfg"
        self._pid_file = self.folder / "haproxy.pid"
        self._runtime = runtime
        self._program = program
        if len(str(self._sockets[0])) > _LONGEST_SOCKET_PATH:
            raise BalancerFailure(f"the folder {self.folder} has too long a name for a socket in it; choose another")

    @property
    def configured(self) -> bool:
        """Whether a configuration was ever written here."""
        return self._configuration.exists()

    async def observe(self) -> Running | None:
        """Return what the process does now; None where there is none.

        Hanse may have ended after it started a process and before it told the replaced one to finish: it is told now.
        """
        found = [seen for socket in self._sockets if (seen := await self._look(socket)) is not None]
        if not found:
            return None
        newest = self._noted_pid()
        current = next((each for each in found if each.pid == newest), found[0])
        for each in found:
            if each.pid != current.pid:
                _finish(each.pid)
        return current

    def free_socket(self, running: Running | None) -> Path:
        """Return where a new process may take its commands."""
        return next(socket for socket in self._sockets if running is None or socket != running.socket)

    async def tell(self, running: Running, commands: Sequence[str]) -> None:
        """Give the process commands in order; raises BalancerFailure where it does not take them."""
        try:
            for batch in batches(commands):
                await ask(running.socket, batch)
        except (OSError, TimeoutError) as error:
            raise BalancerFailure(f"HAProxy at {running.socket} takes no commands: {error}") from error

    async def statistics(self) -> list[dict[str, str]] | None:
        """Return what the process counts of every entrance and server; None where there is none."""
        running = await self.observe()
        try:
            return parse_statistics(await ask(running.socket, "show stat")) if running is not None else None
        except (OSError, TimeoutError):
            return None

    def write(self, text: str) -> None:
        """Replace the configuration in one step; the running process does not look at it."""
        self._prepare(text).replace(self._configuration)

    async def start(self, text: str = "", *, replaced: Running | None = None) -> None:
        """Start a process with a new configuration, or with the last one; raises PortsTaken or BalancerFailure.

        One that is replaced hands over its listening sockets, so that no connection is refused in between, goes on with
        the connections that it has, and ends with the last of them. Where the new one cannot start, the old one stays.
        """
        # What lies in the folder is what runs: a configuration that does not start never gets there.
        chosen = self._prepare(text) if text else self._configuration
        command = [self._found_program(), "-D", "-f", str(chosen), "-p", str(self._pid_file)]
        if replaced is not None:
            # Not -sf: a new process that cannot have a port would have the old one pause all of its own meanwhile.
            command += ["-x", str(replaced.socket)]
        said = await self._carry_out(command)
        if said is not None:
            raise _refusal(said)
        chosen.replace(self._configuration)
        if replaced is not None:
            _finish(replaced.pid)

    async def _carry_out(self, command: Sequence[str]) -> str | None:
        """Run a command that leaves a daemon behind; return what it said where it did not."""
        # Into a file: of a pipe the daemon may keep an end, and nobody would ever see the other one's.
        complaints = self.folder / "start.log"
        with complaints.open("wb") as file:
            begun = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=file)
        try:
            async with asyncio.timeout(_START_SECONDS):
                code = await begun.wait()
        except TimeoutError as error:
            with suppress(ProcessLookupError):
                begun.kill()
            raise BalancerFailure(f"HAProxy did not start within {_START_SECONDS:g} s") from error
        return complaints.read_text(errors="replace") if code else None

    async def ended(self, pid: int) -> None:
        """Wait until a process is gone."""
        try:
            watched = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except OSError:
            # An old kernel: looked at now and then.
            while _exists(pid):
                await self._runtime.sleep(_GLANCE_SECONDS)
            return
        gone = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(watched, gone.set)
        try:
            await gone.wait()
        finally:
            loop.remove_reader(watched)
            os.close(watched)

    async def stop(self) -> bool:
        """Have the process take no more connections and end with the last of those that it has; False without one."""
        running = await self.observe()
        if running is not None:
            _finish(running.pid)
        return running is not None

    def _prepare(self, text: str) -> Path:
        prepared = self.folder / "next.cfg"
        handle = os.open(prepared, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        return prepared

    async def _look(self, socket: Path) -> Running | None:
        try:
            facts = parse_facts(await ask(socket, "show info"))
            if facts.get("Stopping", "0") != "0":
                return None
            slots = parse_servers(await ask(socket, "show servers state"))
            return Running(int(facts["Pid"]), socket, facts.get("description", ""), slots)
        except (OSError, TimeoutError):
            return None
        except (KeyError, ValueError, IndexError) as error:
            raise BalancerFailure(f"HAProxy at {socket} gave an answer that is not understood: {error}") from error

    def _noted_pid(self) -> int:
        try:
            return int(self._pid_file.read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return 0

    def _found_program(self) -> str:
        found = shutil.which(self._program) or shutil.which(self._program, path=_SYSTEM_PROGRAMS)
        if found is None:
            raise BalancerFailure(f"{self._program} is not installed (Debian: apt install haproxy)")
        return found


async def ask(socket: Path, command: str) -> str:
    """Give a process a command and return its answer; raises OSError or TimeoutError where there is none."""
    async with asyncio.timeout(_ANSWER_SECONDS):
        reader, writer = await asyncio.open_unix_connection(str(socket), limit=_LARGEST_ANSWER)
        try:
            writer.write(f"{command}\n".encode())
            await writer.drain()
            return (await reader.read()).decode()
        finally:
            writer.close()


def _finish(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGUSR1)


def _refusal(said: str) -> BalancerFailure:
    if ports := {int(port): why for port, why in _UNBOUND.findall(said)}:
        return PortsTaken(ports)
    alerts = [line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("[ALERT]")]
    return BalancerFailure(f"HAProxy does not start: {alerts[0] if alerts else said.strip()}")


def batches(commands: Iterable[str]) -> Iterable[str]:
    """Yield commands by the line, no line longer than the process reads."""
    batch = ""
    for command in commands:
        if batch and len(batch) + len(command) > _LONGEST_BATCH:
            yield batch
            batch = ""
        batch = f"{batch}; {command}" if batch else command
    if batch:
        yield batch


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
