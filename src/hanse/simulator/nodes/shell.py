"""The small shell that `kubectl exec` finds in a simulated container.

It knows enough to look around: who and where one is, the environment, the time. What it does not know it says so,
with the exit code of a real shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable
from typing import Protocol

from hanse.kube.manifest import Obj, dig, name_of, namespace_of
from hanse.kube.runtime import timestamp

_NOT_FOUND = 127
_SHELLS = ("sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash")
_SEPARATORS = re.compile(r"&&|;|\n")


class Terminal(Protocol):
    """What a command reads from and writes to."""

    @property
    def tty(self) -> bool: ...

    async def read(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...

    async def write_error(self, data: bytes) -> None: ...


class Shell:
    """Runs commands as if in one container of a pod."""

    def __init__(
        self, pod: Obj, container: str, *, now: Callable[[], float], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._pod = pod
        self._container = container
        self._now = now
        self._sleep = sleep

    async def run(self, command: tuple[str, ...], terminal: Terminal) -> int:
        """Run a command to its end and return its exit code."""
        if command[0] not in _SHELLS:
            return await self._one(list(command), terminal)
        if len(command) > 2 and command[1] in ("-c", "-ec", "-lc"):
            return await self._script(command[2], terminal)
        return await self._converse(terminal)

    async def _converse(self, terminal: Terminal) -> int:
        """Read commands line by line until the client leaves or says `exit`."""
        pending, code = b"", 0
        prompt = b"/ # " if terminal.tty else b""
        await terminal.write(prompt)
        while data := await terminal.read():
            if terminal.tty:
                await terminal.write(data.replace(b"\r", b"\r\n"))
            pending += data.replace(b"\r", b"\n")
            while b"\n" in pending:
                line, _, pending = pending.partition(b"\n")
                words = line.decode(errors="replace").split()
                if words[:1] == ["exit"]:
                    return int(words[1]) if len(words) > 1 and words[1].isdigit() else code
                code = await self._script(line.decode(errors="replace"), terminal)
                await terminal.write(prompt)
        return code

    async def _script(self, text: str, terminal: Terminal) -> int:
        code = 0
        for statement in _SEPARATORS.split(text):
            try:
                words = shlex.split(statement)
            except ValueError:
                await terminal.write_error(b"sh: syntax error: unterminated quoted string\n")
                return 2
            if words[:1] == ["exit"]:
                return int(words[1]) if len(words) > 1 and words[1].isdigit() else code
            if words:
                code = await self._one(words, terminal)
        return code

    async def _one(self, words: list[str], terminal: Terminal) -> int:
        name, *arguments = words
        match name:
            case "true":
                return 0
            case "false":
                return 1
            case "sleep":
                await self._sleep(float(arguments[0]) if arguments and arguments[0].isdigit() else 0.0)
                return 0
            case "cat" if not arguments:
                while data := await terminal.read():
                    await terminal.write(data)
                return 0
        told = self._tell(name, arguments)
        if told is None:
            await terminal.write_error(f"sh: {name}: not found\n".encode())
            return _NOT_FOUND
        ending = "\r\n" if terminal.tty else "\n"
        await terminal.write("".join(f"{line}{ending}" for line in told).encode())
        return 0

    def _tell(self, name: str, arguments: list[str]) -> list[str] | None:
        match name:
            case "echo":
                return [" ".join(self._expand(word) for word in arguments)]
            case "hostname":
                return [name_of(self._pod)]
            case "whoami":
                return ["root"]
            case "pwd":
                return ["/"]
            case "date":
                return [timestamp(self._now())]
            case "env" | "printenv":
                return [f"{key}={value}" for key, value in sorted(self._environment().items())]
            case "ls":
                return ["bin", "etc", "proc", "tmp", "var"]
            case "cat" if arguments == ["/etc/hostname"]:
                return [name_of(self._pod)]
        return None

    def _expand(self, word: str) -> str:
        environment = self._environment()
        return re.sub(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?", lambda found: environment.get(found.group(1), ""), word)

    def _environment(self) -> dict[str, str]:
        containers = [*self._pod["spec"]["containers"], *(self._pod["spec"].get("initContainers") or ())]
        chosen: Obj = next((entry for entry in containers if entry["name"] == self._container), {})
        given = {entry["name"]: str(entry.get("value", "")) for entry in chosen.get("env") or ()}
        return {
            "HOSTNAME": name_of(self._pod),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "POD_NAMESPACE": namespace_of(self._pod),
            "POD_IP": str(dig(self._pod, "status", "podIP", default="")),
            "NODE_NAME": str(self._pod["spec"].get("nodeName", "")),
            **given,
        }
