"""Where an API server keeps its objects: one revisioned key-value interface and two engines."""

from hanse.apiserver.storage.interface import Change, Compacted, OutOfSpace, Record, Stale, Storage, StorageError
from hanse.apiserver.storage.memory import MemoryStorage
from hanse.apiserver.storage.snapshot import restore_snapshot
from hanse.apiserver.storage.sqlite import SqliteStorage

__all__ = [
    "Change",
    "Compacted",
    "MemoryStorage",
    "OutOfSpace",
    "Record",
    "SqliteStorage",
    "Stale",
    "Storage",
    "StorageError",
    "restore_snapshot",
]
