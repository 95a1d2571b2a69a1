"""Applications of people who may use some clusters only, under a control plane that may use none itself."""

import pytest

from hanse.api.pieces import PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION, piece_spec
from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    CLUSTERS_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASE_LABEL,
    RELEASES,
)
from hanse.apiserver import Identity
from hanse.cli.authorship import stamp_authors
from hanse.clusters.access import author_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.behaviour.rollouts import achieved
from tests.simulation.rollouts.applications import FULL_ON, application, packed
from tests.simulation.rollouts.world import rollouts
from tests.simulation.test_access import let, user, using

pytestmark = pytest.mark.looptime

VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"]
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": VERBS}


async def as_hanse(world):
    """Have the control plane be a user of its own, who may do everything on the host but use clusters."""
    await let(world, "hanse-works", "hanse", EVERYTHING)
    await stamp_authors(user(world, "hanse"))
    await world.kill_control_plane()
    world.lead_through("host", world.servers["host"].connect(Identity("hanse"), as_remote=True))
    world.start_control_plane()


async def smuggle(client, cluster):
    """Write by hand what Hanse makes of a release: a piece of any content, and where it goes."""
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "default"}}
    metadata = {"name": "mine", "namespace": "default", "labels": {APP_LABEL: "no", RELEASE_LABEL: "mine"}}
    annotations = {RENDERING_ANNOTATION: "d", PIECES_ANNOTATION: "mine"}
    for kind, spec in (
        (PIECES, piece_spec(CONFIGMAPS, template)),
        (INSTALLATION_TARGETS, {"clusters": [cluster], "canOverride": False}),
    ):
        manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        made = await client.create(kind, {**manifest, "metadata": {**metadata, "annotations": annotations}})
        assert author_of(made).user == "bob"


async def test_a_release_goes_only_where_all_may_place_it_who_say_so():
    async with rollouts("a", "b") as world:
        await as_hanse(world)
        await let(world, "anna-uses", "anna", using("a", "b"))
        for name in ("anna", "bob"):
            await let(world, f"{name}-writes", name, EVERYTHING)
        anna, bob = user(world, "anna"), user(world, "bob")

        # Hanse writes releases, pieces and targets, and the rights of whoever wrote the application count.
        await anna.create(CONFIGMAPS, packed("1", replicas=1))
        await anna.create(APPLICATIONS, application("1", steps=[FULL_ON]))
        release = await world.contender("web", 0)
        await achieved(world.people, release, 0, "full on")
        pieces = (await world.host.list(PIECES, "default")).items
        assert {author_of(piece).user for piece in pieces} == {"hanse"}

        # Nobody takes a release further with another's rights, or anything at all under Hanse's name.
        [own] = await world.clusters_of(release)
        [other] = {"a", "b"} - {own}
        await let(world, "bob-uses", "bob", using(own))
        wider = {"metadata": {"annotations": {CLUSTERS_ANNOTATION: f"{own},{other}"}}}
        await bob.patch(RELEASES, release, wider, "default")
        await smuggle(bob, other)

        for name, who in ((release, f"bob, who wrote Release default/{release},"), ("mine", "bob")):
            why = f"{who} may not use cluster {other}"
            await world.people.until(INSTALLATION_TARGETS, name, lambda it, why=why: why in str(it.get("status")))
        assert await world.managed(other, DEPLOYMENTS) == []
        assert await world.managed(other, CONFIGMAPS) == ["web-1"]

        # With the right it all goes there.
        await let(world, "bob-uses", "bob", using(own, other))
        await world.until(lambda: holds(world, other, {"web-1", "mine", f"{release}-anchor"}))


async def holds(world, cluster, names):
    return set(await world.managed(cluster, CONFIGMAPS)) == names
