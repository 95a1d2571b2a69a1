"""A shard as its function sees it: the tablets that shall exist, what exists of them, and what topology says."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hanse.api.planetscale.kinds import (
    BACKUP_LOCATION_LABEL,
    CASCADE_ANNOTATION,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    KEYSPACE_LABEL,
    VITESS_BACKUPS,
)
from hanse.api.planetscale.reading import (
    DEFAULT_ENGINE,
    read_locations,
    read_shard_template,
    read_update_strategy,
)
from hanse.api.planetscale.values import BackupLocation, Pool, ShardTemplate, UpdateStrategy
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of, namespace_of
from hanse.kube.resources import PODS
from hanse.vitess.naming import initial_backup_name
from hanse.vitess.operator.claims import asked_size, shrinks
from hanse.vitess.operator.kinds import CLAIMS
from hanse.vitess.operator.partitions import custom_range
from hanse.vitess.operator.pods import is_available, is_ready
from hanse.vitess.operator.shaping import Settings, Surroundings, surroundings_of
from hanse.vitess.operator.tablet_pods import TabletWish
from hanse.vitess.operator.tablets import VTTABLET, ShardPlace, Tablet, alias_of, tablets_of
from hanse.vitess.operator.verdicts import Observed, Tri
from hanse.vitess.topology.picture import TopologyPicture


@dataclass(frozen=True, slots=True)
class ShardScene:
    """Everything that decisions about one shard are made on."""

    parent: Obj
    observed: Observed
    picture: TopologyPicture | None
    around: Surroundings
    place: ShardPlace
    template: ShardTemplate
    strategy: UpdateStrategy
    tablets: tuple[Tablet, ...]
    locations: tuple[BackupLocation, ...]

    @property
    def spec(self) -> Obj:
        """What is asked for."""
        found: Obj = self.parent["spec"]
        return found

    @property
    def generation(self) -> int:
        """How often that was changed."""
        return int(dig(self.parent, "metadata", "generation", default=0))

    @property
    def cascades(self) -> bool:
        """Whether tablets are to be released one after the other."""
        return CASCADE_ANNOTATION in annotations_of(self.parent)

    @property
    def backup_name(self) -> str:
        """What the Pod and the claim of the first backup are called."""
        return initial_backup_name(self.place.cluster, self.place.keyspace, self.place.key_range.safe_name)

    def pod(self, tablet: Tablet) -> Obj | None:
        """Return the Pod of a tablet, if there is one."""
        return self.observed.of(PODS).get(tablet.name)

    def claim(self, tablet: Tablet) -> Obj | None:
        """Return the claim of a tablet, if there is one."""
        return self.observed.of(CLAIMS).get(tablet.name)

    def orphans(self) -> list[Obj]:
        """Return the Pods of tablets that nobody asks for, by their aliases."""
        wanted = {tablet.name for tablet in self.tablets}
        found = [
            pod
            for pod in self.observed.of(PODS).values()
            if name_of(pod) not in wanted and labels_of(pod).get(COMPONENT_LABEL) == VTTABLET
        ]
        return sorted(found, key=alias_of)

    def all_ready(self) -> bool:
        """Tell whether every tablet that shall exist serves."""
        return all((pod := self.pod(tablet)) is not None and is_ready(pod) for tablet in self.tablets)

    def unavailable(self) -> list[str]:
        """Return the tablets that do not serve, or have not for long enough."""
        now = self.observed.now
        return [
            tablet.alias for tablet in self.tablets if (pod := self.pod(tablet)) is None or not is_available(pod, now)
        ]

    @property
    def primary(self) -> str | None:
        """The alias of the primary, "" where topology names none, None where topology does not answer."""
        if self.picture is None:
            return None
        record = self.picture.shards.get((self.place.keyspace, str(self.place.key_range)))
        primary = record.value.primary if record is not None else None
        return str(primary) if primary is not None else ""

    @property
    def has_primary(self) -> Tri:
        """Whether topology names a primary."""
        return Tri.of(None if self.primary is None else bool(self.primary))

    @property
    def eligible(self) -> list[Tablet]:
        """The tablets that may become primary."""
        return [tablet for tablet in self.tablets if tablet.pool.type.primary_eligible]

    def location_of(self, pool: Pool) -> BackupLocation | None:
        """Return where a pool's backups are, None where there are none."""
        return next((each for each in self.locations if each.name == pool.backup_location), None)

    def wish(self, tablet: Tablet) -> TabletWish:
        """Return what a tablet's Pod depends on; a disk that would have to shrink stays as it is."""
        live = self.claim(tablet)
        pool = tablet.pool
        if live is not None and pool.volume_claim is not None and shrinks(live, pool.volume_claim):
            resources = {"requests": {"storage": asked_size(live)}}
            tablet = replace(tablet, pool=replace(pool, volume_claim={**pool.volume_claim, "resources": resources}))
        return TabletWish(
            tablet=tablet,
            around=self.around,
            database=str(self.spec.get("databaseName") or f"vt_{self.place.keyspace}"),
            init_script=self.template.init_script,
            location=self.location_of(pool),
            engine=str(self.spec.get("backupEngine") or DEFAULT_ENGINE),
        )

    def backups(self, location: str) -> list[Obj]:
        """Return the backups of the shard that a location holds."""
        return [
            each
            for each in self.observed.beside(VITESS_BACKUPS).values()
            if labels_of(each).get(BACKUP_LOCATION_LABEL, "") == location
        ]


def shard_scene(parent: Obj, observed: Observed, picture: TopologyPicture | None, settings: Settings) -> ShardScene:
    """Read a VitessShard."""
    spec, labels = parent["spec"], labels_of(parent)
    place = ShardPlace(labels[CLUSTER_LABEL], labels[KEYSPACE_LABEL], custom_range(spec))
    template = read_shard_template(spec)
    return ShardScene(
        parent=parent,
        observed=observed,
        picture=picture,
        around=surroundings_of(place.cluster, namespace_of(parent), spec, settings),
        place=place,
        template=template,
        strategy=read_update_strategy(spec),
        tablets=tuple(tablets_of(place, template.pools)),
        locations=read_locations(spec),
    )
