"""`hanse doors status`: which doors of clusters are open, where pods go from there, and whether that works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.api.admiralty.keys import ENABLED, NAMESPACE_LABEL, PARENT_CLUSTER
from hanse.cli.elsewhere import FEDERATION_SOURCE, Elsewhere, Sight, read_elsewhere
from hanse.cli.fleet import ask_members
from hanse.cli.output import FEDERATION, Column
from hanse.cli.printable import printable
from hanse.cli.whereabouts import target_name
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Obj, dig, labels_of, name_of
from hanse.kube.resources import NAMESPACES
from hanse.pods.placeholder.reading import target_of

COLUMNS = (
    Column("CLUSTER"),
    Column("PODS"),
    Column("COMPOSITES"),
    Column("VITESS"),
    Column("TARGETS"),
    Column("ELSEWHERE"),
    Column("WAITING"),
    Column("RUNS FOR OTHERS"),
    Column("NAMESPACES", wide=True),
    Column("TROUBLE", wide=True),
)


@dataclass(frozen=True, slots=True)
class DoorState:
    """One cluster's doors, as they are now."""

    cluster: str
    open: bool
    targets: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    elsewhere: int = 0
    """Its pods that have a place elsewhere."""
    waiting: int = 0
    """Its pods that wait for one."""
    hosted: int = 0
    """The pods of others that it has."""
    namespaces: tuple[str, ...] = ()
    """Those whose annotated pods are elected."""
    troubles: Mapping[str, str] | None = None
    """What cannot be used, and why."""
    composites: bool = False
    """Whether its lambda controllers are run."""
    vitess: bool = False
    """Whether its VitessClusters are run."""

    def row(self) -> list[str]:
        """Return it as a line of a table."""
        troubles = self.troubles or {}
        cells = [
            self.cluster or FEDERATION,
            "open" if self.open else "closed",
            "open" if self.composites else "closed",
            "open" if self.vitess else "closed",
            f"{len(self.ready)}/{len(self.targets)}" if self.targets else "",
            str(self.elsewhere),
            str(self.waiting),
            str(self.hosted),
            ",".join(self.namespaces),
            "; ".join(f"{name}: {why}" for name, why in troubles.items()),
        ]
        return [printable(cell) for cell in cells]

    def document(self) -> dict[str, object]:
        """Return it for programs."""
        return {
            "cluster": self.cluster or FEDERATION,
            "open": self.open,
            "composites": self.composites,
            "vitess": self.vitess,
            "targets": list(self.targets),
            "ready": list(self.ready),
            "elsewhere": self.elsewhere,
            "waiting": self.waiting,
            "hosted": self.hosted,
            "namespaces": list(self.namespaces),
            "troubles": dict(self.troubles or {}),
        }


def door_states(elsewhere: Elsewhere, namespaces: Mapping[str, tuple[str, ...]]) -> list[DoorState]:
    """Tell of the door of every cluster; of one that does not answer only what the registry says."""
    silent = [
        DoorState(
            name,
            name in elsewhere.doors,
            troubles={name: why},
            composites=name in elsewhere.composites,
            vitess=name in elsewhere.vitess,
        )
        for name, why in elsewhere.silent.items()
    ]
    told = [
        _state(name, sight, elsewhere, namespaces.get(name, ()))
        for name, sight in elsewhere.seen.items()
        if name != FEDERATION_SOURCE or sight.placeholders
    ]
    return sorted([*silent, *told], key=lambda state: state.cluster)


def _state(name: str, sight: Sight, elsewhere: Elsewhere, namespaces: tuple[str, ...]) -> DoorState:
    targets = {str(target_name(target)): _trouble(target) for target in sight.targets}
    placed = sum(bool(target_of(pod)) for pod in sight.placeholders)
    return DoorState(
        cluster=name,
        open=name in elsewhere.doors or name == FEDERATION_SOURCE,
        targets=tuple(sorted(targets)),
        ready=tuple(sorted(target for target, trouble in targets.items() if not trouble)),
        elsewhere=placed,
        waiting=len(sight.placeholders) - placed,
        hosted=sum(labels_of(each).get(PARENT_CLUSTER, "") != name for each in sight.chaperons),
        namespaces=namespaces,
        troubles={target: trouble for target, trouble in sorted(targets.items()) if trouble},
        composites=name in elsewhere.composites or name == FEDERATION_SOURCE,
        vitess=name in elsewhere.vitess,
    )


def _trouble(target: Obj) -> str:
    """Say why a target cannot be used, "" where it can; nobody has judged it while its door is closed."""
    ready = find_condition(dig(target, "status", "conditions", default=None), "Ready")
    if ready is None:
        return "nobody has looked at it yet"
    return "" if ready.get("status") == "True" else str(ready.get("message") or "it is not ready")


async def read_states(host: Client) -> list[DoorState]:
    """Ask the federation and every member how their doors are."""
    elsewhere = await read_elsewhere(host)

    async def enabled(member: Member) -> tuple[str, ...]:
        try:
            listed = await member.client.list(NAMESPACES, labels=f"{NAMESPACE_LABEL}={ENABLED}")
        except (Forbidden, NotFound):
            return ()
        return tuple(sorted(map(name_of, listed.items)))

    asked = [elsewhere.clusters[name] for name in elsewhere.seen if name != FEDERATION_SOURCE]
    answers = await ask_members(host, asked, enabled)
    return door_states(elsewhere, {name: each for name, each in answers.items() if isinstance(each, tuple)})
