"""What people do on the federation of a random world."""

from __future__ import annotations

from hanse.api.clusters import CLUSTERS
from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION
from hanse.kube.manifest import Obj, key_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES
from tests.simulation.random_objects import KINDS, TIERS, Kind, make_up, namespace, selector
from tests.simulation.random_stage import MEMBERS, Act, NothingThereError, Stage
from tests.simulation.random_truth import HOST
from tests.simulation.tally import note_fault

_LATECOMER = "d"
# A change reaches every healthy member within this time, whatever the others do.
_PROMPT_SECONDS = 3.0
# Before that, a control plane that has just been started still looks around.
_AWAKE_SECONDS = 10.0
_CHOICES = tuple(kind for kind in KINDS for _ in range(kind.weight))


async def write(stage: Stage) -> str:
    """Create something."""
    return await write_kind(stage, stage.chance.one_of(_CHOICES))


async def write_kind(stage: Stage, kind: Kind) -> str:
    """Create an object of a kind."""
    chance = stage.chance
    obj = make_up(chance, kind, f"one-{chance.count(0, 2)}", chance.one_of(("default", "shop")))
    await stage.host.create(kind.resource, obj)
    return f"created {kind.resource.kind} {key_of(obj)} {obj['metadata'].get('annotations')}"


async def edit(stage: Stage) -> str:
    """Change something."""
    return await edit_source(stage, *stage.some_source())


async def edit_source(stage: Stage, kind: Kind, source: Obj) -> str:
    """Change an object: its labels, and what is in it."""
    if kind.fixed:
        raise NothingThereError(f"a {kind.resource.kind} cannot be changed")
    fresh = make_up(stage.chance, kind, source["metadata"]["name"], source["metadata"]["namespace"])
    live = await stage.host.get(kind.resource, source["metadata"]["name"], source["metadata"]["namespace"])
    body: Obj = {name: fresh[name] for name in ("data", "spec") if name in fresh}
    if "replicas" in body.get("spec", {}) and stage.chance.happens(0.5):
        body["spec"]["replicas"] = live["spec"]["replicas"]
    labels = {"labels": fresh["metadata"]["labels"]}
    await stage.host.update(kind.resource, {**live, **body, "metadata": {**live["metadata"], **labels}})
    return f"changed {kind.resource.kind} {key_of(source)}: {body}"


async def choose(stage: Stage) -> str:
    """Choose other clusters for something."""
    return await choose_for(stage, *stage.some_source())


async def move(stage: Stage) -> str:
    """Choose other clusters for a workload."""
    return await choose_for(stage, *stage.some_source(DEPLOYMENTS))


async def choose_for(stage: Stage, kind: Kind, source: Obj) -> str:
    """Choose other clusters for an object."""
    text = None if stage.chance.happens(0.3) else selector(stage.chance)
    patch = {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: text}}}
    await stage.host.patch(kind.resource, source["metadata"]["name"], patch, source["metadata"]["namespace"])
    return f"chose {text} for {kind.resource.kind} {key_of(source)}"


async def delete(stage: Stage) -> str:
    """Delete something, now and then so that its copies stay."""
    kind, source = stage.some_source()
    propagation = "Orphan" if stage.chance.happens(0.2) else "Background"
    name, within = source["metadata"]["name"], source["metadata"]["namespace"]
    await stage.host.delete(kind.resource, name, within, propagation=propagation)
    return f"deleted {kind.resource.kind} {key_of(source)} ({propagation})"


async def drop_namespace(stage: Stage) -> str:
    """Delete a namespace with all that is in it, or make it again."""
    if ("core/namespaces", "shop") not in stage.truth.objects[HOST]:
        await stage.host.create(NAMESPACES, namespace("shop"))
        return "made the namespace shop again"
    await stage.host.delete(NAMESPACES, "shop")
    return "deleted the namespace shop"


async def relabel(stage: Stage) -> str:
    """Change what kind of cluster one is."""
    name, tier = stage.some_cluster(), stage.chance.one_of(TIERS)
    await stage.host.patch(CLUSTERS, name, {"metadata": {"labels": {"tier": tier}}})
    return f"labelled cluster {name} {tier}"


async def come_or_go(stage: Stage) -> str:
    """Have a cluster join or leave."""
    clusters = stage.truth.clusters
    for name in (*MEMBERS, _LATECOMER):
        if name not in clusters and (name != _LATECOMER or stage.chance.happens(0.7)):
            await stage.federation.join(name, {"tier": stage.chance.one_of(TIERS)})
            return f"{name} joined"
    if len(clusters) <= len(MEMBERS) - 1:
        return "nobody may leave"
    name = stage.some_cluster()
    await stage.federation.leave(name)
    return f"{name} left"


async def set_clock(stage: Stage) -> str:
    """Set the clock of the host and of its control planes, rightly or not."""
    stage.federation.clock.skew = round(stage.chance.between(-300.0, 300.0))
    stage.truth.clock_is_wrong = True
    note_fault("wrong clock")
    return f"the federation's clock is set to {stage.federation.clock.skew:+} s"


async def probe(stage: Stage) -> str:
    """Write something small, and see that no healthy member waits for a broken one."""
    stage.probes += 1
    federation, truth = stage.federation, stage.truth
    name, path = f"probe-{stage.probes}", f"default/probe-{stage.probes}"
    healthy = [one for one in truth.clusters if stage.is_well(one)]
    watched, life = _works(stage), truth.begun_at
    await stage.host.create(
        CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    )
    await stage.sleep(_PROMPT_SECONDS)
    if watched and _works(stage) and life == truth.begun_at:
        for one in filter(stage.is_well, healthy):
            belongs = truth.chosen(truth.objects[HOST]["core/configmaps", path], truth.clusters[one])
            if belongs and ("core/configmaps", path) not in truth.objects[one]:
                federation.judge.blame(f"isolation: {one} is well and had no {name} after {_PROMPT_SECONDS:g} s")
    return f"wrote {name}; {', '.join(healthy) or 'nobody'} should have had it at once"


def _works(stage: Stage) -> bool:
    """Tell whether a control plane that is well has been at work for a while, on a host that is well."""
    federation, begun = stage.federation, stage.truth.begun_at
    still = federation.leader.standstill.stopped
    return federation.alive and not still and stage.is_well(HOST) and stage.now - begun > _AWAKE_SECONDS


ACTS: tuple[Act, ...] = (
    write,
    write,
    write,
    edit,
    edit,
    choose,
    move,
    move,
    delete,
    relabel,
    relabel,
    come_or_go,
    set_clock,
    probe,
    probe,
    drop_namespace,
)
