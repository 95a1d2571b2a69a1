"""The data folder of an embedded federation: what lies where, who holds it, and how its parts are reached.

lock             held by the running process; its content is that process's id
federation.json  name, DNS domain, ports and clusters; whether everything is up
kubeconfig       one context for the federation and one for each cluster
hanse.log        what a detached federation has to say
host/, clusters/NAME/   the API servers' stores and keys
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import orjson

from hanse.cli.failures import Failure, Misuse


@dataclass(frozen=True, slots=True)
class Record:
    """What a data folder says about its federation."""

    name: str = "federation"
    domain: str = "federation.local"
    ready: bool = False
    pid: int = 0
    host: str = ""
    ports: dict[str, int] = field(default_factory=dict)
    clusters: list[dict[str, Any]] = field(default_factory=list)
    # Where the built-in DNS server answers: HOST:PORT.
    dns: str = ""
    # Whether the folder goes with the federation.
    ephemeral: bool = False

    def but(self, **changes: Any) -> Record:
        """Return the record with some fields changed."""
        return replace(self, **changes)


class Folder:
    """One data folder."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the federation and its clusters."""
        return self.path / "kubeconfig"

    @property
    def log(self) -> Path:
        """Where a detached federation writes its log."""
        return self.path / "hanse.log"

    def server(self, cluster: str = "") -> Path:
        """Return the folder of one API server, the host's by default."""
        return self.path / "clusters" / cluster if cluster else self.path / "host"

    def simulated(self) -> list[str]:
        """Return the names of the clusters that were ever simulated here."""
        try:
            return sorted(one.name for one in (self.path / "clusters").iterdir() if one.is_dir())
        except OSError:
            return []

    def make(self) -> None:
        """Create the folder, for its owner alone; raises Misuse."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise Misuse(f"the data folder {self.path} cannot be made: {error.strerror}") from error

    def read(self) -> Record | None:
        """Return the folder's record; None where no federation was ever started here."""
        try:
            document = orjson.loads((self.path / "federation.json").read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, orjson.JSONDecodeError) as error:
            raise Failure(f"{self.path / 'federation.json'} cannot be read: {error}") from error
        return Record(**document)

    def write(self, record: Record) -> None:
        """Replace the record in one step, so that nobody ever reads half of one."""
        self.write_file("federation.json", orjson.dumps(asdict(record), option=orjson.OPT_INDENT_2))

    def write_file(self, name: str, content: bytes) -> None:
        """Replace a file in one step, readable by its owner alone."""
        partial = self.path / f".{name}.partial"
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / name)

    def opened(self, name: str, mode: str) -> IO[Any]:
        """Open a file of the folder for writing; raises Misuse where that is not allowed."""
        try:
            return (self.path / name).open(mode)
        except OSError as error:
            raise Misuse(f"the data folder {self.path} cannot be written: {error.strerror}") from error

    def holder(self) -> int | None:
        """Return the id of the process that runs this folder's federation, None where none does."""
        try:
            with (self.path / "lock").open("r+") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return int(file.read().strip() or 0)
        except OSError:
            return None
        return None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder; raises Failure when another process does. A killed process holds nothing."""
        self.make()
        with self.opened("lock", "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = self.holder()
                raise Failure(
                    f"the data folder {self.path} is in use by process {pid}; "
                    f"stop it with `hanse down --data-dir {self.path}` or choose another --data-dir"
                ) from None
            file.seek(0)
            file.truncate()
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield


def running_record(folder: Folder) -> Record:
    """Return the record of a federation that is up; raises Failure with what to do otherwise."""
    record = folder.read()
    if record is None:
        raise Failure(f"there is no federation in {folder.path}; `hanse up --data-dir {folder.path}` starts one")
    if folder.holder() is None:
        raise Failure(f"the federation in {folder.path} is not running; `hanse up --data-dir {folder.path}` starts it")
    return record
