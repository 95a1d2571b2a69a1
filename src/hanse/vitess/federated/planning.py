"""The next plan of a federated VitessCluster, from the last one and what is known of members and topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hanse.kube.manifest import Obj
from hanse.vitess.federated.aliases import alias_refusals
from hanse.vitess.federated.homes import Site, find_homes
from hanse.vitess.federated.initializers import choose_initializers, preferred_clusters
from hanse.vitess.federated.leaving import MemberNews, still_leaving
from hanse.vitess.federated.picture import Picture
from hanse.vitess.federated.plan import Entries, Plan, spec_digest
from hanse.vitess.federated.quorum import read_quorum
from hanse.vitess.federated.reading import all_shards
from hanse.vitess.federated.refusal import Refusal
from hanse.vitess.federated.refusing import refusals
from hanse.vitess.federated.splitting import placed_entries
from hanse.vitess.federated.staging import Standing, stage
from hanse.vitess.federated.status import shards_without_primary


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known now: the registered clusters, what each member says, and topology where it could be read."""

    sites: Sequence[Site] = ()
    news: Mapping[str, MemberNews] = field(default_factory=dict)
    standings: Mapping[str, Standing] = field(default_factory=dict)
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, or the last one still where the specification is refused; `notes` say what is waited for."""

    plan: Plan
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


def next_plan(source: Obj, before: Plan | None, facts: Facts) -> Planned:
    """Return what follows from a specification; a refused one changes nothing."""
    spec, last = source.get("spec") or {}, before or Plan()
    refused = (*refusals(source, facts.sites, before), *alias_refusals(spec))
    if refused:
        return Planned(last, refused)
    homes, _ = find_homes(spec, facts.sites, last.homes)
    lost = {site.name for site in facts.sites if site.lost} | (set(last.homes.values()) - {s.name for s in facts.sites})
    shards = all_shards(spec)
    initializers = choose_initializers(
        shards,
        homes,
        last.initializers,
        lost=lost,
        without_primary=shards_without_primary(facts.picture, [shard.id for shard in shards]),
        preferred=preferred_clusters(spec),
    )
    plan = Plan(spec=spec_digest(source), homes=homes, initializers=initializers, quorum=read_quorum(spec))
    plan = _with_leaving(source, plan, last, facts)
    etcd_members = [each.cluster for each in plan.quorum.members] if plan.quorum is not None else []
    staged = stage(spec, plan.members, last.versions, facts.standings, etcd_members=etcd_members)
    notes = (staged.sentence,) if staged.sentence else ()
    return Planned(replace(plan, versions=staged.versions), notes=(*notes, *_leaving_notes(plan)))


def _with_leaving(source: Obj, plan: Plan, last: Plan, facts: Facts) -> Plan:
    placed = placed_entries(source, plan)
    leaving = {}
    for member in sorted({*last.placed, *last.leaving}):
        kept = still_leaving(
            last.placed.get(member, Entries()),
            last.leaving.get(member, Entries()),
            placed.get(member, Entries()),
            facts.news.get(member, MemberNews()),
        )
        if kept:
            leaving[member] = kept
    # A cell stays at home until its member has let it go: it may not be anywhere else before.
    homes = {**{cell: member for member, each in leaving.items() for cell in each.cells}, **plan.homes}
    return replace(plan, homes=homes, placed=placed, leaving=leaving)


def _leaving_notes(plan: Plan) -> list[str]:
    return [
        f"{member} has yet to let go of {', '.join(sorted({*each.keyspaces, *each.cells}))}"
        for member, each in sorted(plan.leaving.items())
    ]
