"""A MySQL without data: which transactions it has, whom it copies them from, and whether it takes writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hanse.api.vitess_records.positions import Position
from hanse.api.vitess_records.replication import (
    FullStatus,
    PrimaryStatus,
    ReplicationConfiguration,
    ReplicationStatus,
    ThreadState,
)
from hanse.api.vitess_records.topology import TabletType

Address = tuple[str, int]
_VERSION = "8.0.40"
# What MySQL waits for an acknowledgement when it shall never go on without one: the longest time that it can count.
_FOREVER_MS = 1_000_000_000_000_000_000


@dataclass(slots=True)
class SimulatedNetwork:
    """Which servers there are, and which of them reach each other."""

    servers: dict[Address, SimulatedMySQL] = field(default_factory=dict)
    reaches: Callable[[Address, Address], bool] = lambda *_: True

    def replicas_of(self, source: SimulatedMySQL) -> list[SimulatedMySQL]:
        """Return the servers that are copying from one now."""
        return [each for each in self.servers.values() if each.connected and each.source == source.address]


@dataclass(slots=True, eq=False)
class SimulatedMySQL:
    """One server; what it writes and copies are numbers of transactions, lines of a journal and names of databases."""

    address: Address
    uuid: str
    server_id: int
    network: SimulatedNetwork
    up: bool = True
    executed: Position = field(default_factory=Position)
    journal: set[int] = field(default_factory=set)
    databases: set[str] = field(default_factory=set)
    read_only: bool = True
    source: Address | None = None
    fetching: bool = False
    """Whether the thread that fetches is on; it may still find nobody."""
    applying: bool = False
    lag_seconds: int = 0
    """How far behind it stays, however fast the network is; what it lacks it does not fetch meanwhile."""
    acknowledges: bool = False
    """Whether it acknowledges what it fetches, as replicas of semi-synchronous replication do."""
    waits: bool = False
    """Whether it waits for an acknowledgement before a write counts."""

    def __post_init__(self) -> None:
        self.network.servers[self.address] = self

    @property
    def connected(self) -> bool:
        """Whether it is fetching from a source that is there."""
        if not (self.up and self.fetching and self.source is not None):
            return False
        source = self.network.servers.get(self.source)
        return source is not None and source.up and self.network.reaches(self.address, self.source)

    def write(self, journal: int = 0, database: str = "") -> bool:
        """Write a transaction; says whether it counts: one that nobody acknowledged though it must be may be lost."""
        if self.read_only or not self.up:
            return False
        self.executed = self.executed.after_write(self.uuid)
        self.journal |= {journal} - {0}
        self.databases |= {database} - {""}
        return self.acknowledged()

    def acknowledged(self) -> bool:
        """Say whether all that was written here counts; those who copy fetch it first."""
        attached = self.network.replicas_of(self)
        for replica in attached:
            replica.fetch()
        return not self.waits or any(each.acknowledges and each.has(self.executed) for each in attached)

    def fetch(self) -> None:
        """Copy what the source has."""
        if self.source is None or not self.connected or self.lag_seconds:
            return
        source = self.network.servers[self.source]
        self.executed = self.executed.union(source.executed)
        self.journal |= source.journal
        self.databases |= source.databases

    def has(self, position: Position) -> bool:
        """Say whether all transactions of a position are here."""
        self.fetch()
        return self.executed.at_least(position)

    def follow(self, source: Address) -> None:
        """Copy from a source from now on, and take no writes of others."""
        self.source, self.fetching, self.applying, self.read_only = source, True, True, True
        self.waits = False
        self.fetch()

    def stop(self, *, only_fetching: bool = False) -> None:
        """Stop copying; what was fetched may still be applied."""
        self.fetch()
        self.fetching = False
        self.applying = self.applying and only_fetching

    def forget_source(self) -> None:
        """Be nobody's replica any more."""
        self.stop()
        self.source = None

    def status(self) -> ReplicationStatus | None:
        """Return how replication fares; None where this is nobody's replica."""
        if self.source is None:
            return None
        self.fetch()
        source = self.network.servers.get(self.source)
        io = ThreadState.RUNNING if self.connected else ThreadState.CONNECTING if self.fetching else ThreadState.STOPPED
        position = str(self.executed)
        return ReplicationStatus(
            position=position,
            relay_log_position=position,
            replication_lag_seconds=self.lag_seconds,
            replication_lag_unknown=not self.connected,
            source_host=self.source[0],
            source_port=self.source[1],
            source_uuid=source.uuid if source is not None else "",
            source_server_id=source.server_id if source is not None else 0,
            io_state=io,
            last_io_error="error reconnecting to source" if io == ThreadState.CONNECTING else "",
            sql_state=ThreadState.RUNNING if self.applying else ThreadState.STOPPED,
            source_user="vt_repl",
            auto_position=True,
            using_gtid=True,
            semi_sync_primary_enabled=self.waits,
            semi_sync_replica_enabled=self.acknowledges,
            semi_sync_replica_status=self.acknowledges and self.connected,
        )

    def primary_status(self) -> PrimaryStatus:
        """Return how far it is."""
        return PrimaryStatus(position=str(self.executed), server_uuid=self.uuid)

    def full_status(self, tablet_type: TabletType) -> FullStatus:
        """Return all that vtorc wants to know."""
        acknowledging = sum(each.acknowledges for each in self.network.replicas_of(self))
        return FullStatus(
            server_id=self.server_id,
            server_uuid=self.uuid,
            replication_status=self.status(),
            primary_status=self.primary_status(),
            version=_VERSION,
            version_comment="MySQL Community Server - GPL",
            read_only=self.read_only,
            super_read_only=self.read_only,
            gtid_mode="ON",
            binlog_format="ROW",
            binlog_row_image="FULL",
            log_bin_enabled=True,
            log_replica_updates=True,
            semi_sync_primary_enabled=self.waits,
            semi_sync_replica_enabled=self.acknowledges,
            semi_sync_primary_status=self.waits,
            semi_sync_replica_status=self.acknowledges and self.connected,
            semi_sync_primary_clients=acknowledging,
            semi_sync_primary_timeout=_FOREVER_MS,
            semi_sync_wait_for_replica_count=1,
            replication_configuration=ReplicationConfiguration(0.0, 60),
            tablet_type=tablet_type,
        )
