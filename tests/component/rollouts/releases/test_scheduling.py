"""Releases get clusters, Pieces and targets: what is stored, in which order, and what is said where it cannot be."""

import asyncio

import pytest

from hanse.api.pieces import PIECES, RENDERING_ANNOTATION
from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CAPACITY_TARGETS,
    INSTALLATION_TARGETS,
    RELEASES,
    ROLLOUT_FINALIZER,
    TRAFFIC_TARGETS,
)
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound, ServerError
from hanse.kube.manifest import annotations_of, dig, name_of
from hanse.kube.resources import CRDS
from hanse.rollouts.sources import SourceProblem
from tests.component.rollouts.releases.stage import FULL_ON, HALF, STAGING, stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
CLUSTERS = "shipper.booking.com/release.clusters"
TWO = {"clusterRequirements": {"regions": [{"name": "local", "replicas": 2}]}}


async def pieces(host):
    return {name_of(piece): piece for piece in (await host.list(PIECES, "default")).items}


async def test_4_a_release_gets_its_clusters_pieces_and_targets_and_the_installation_last():
    async with stage("kind-app") as here:
        name = await here.release()
        await here.quiet()

        release, made = await here.get("rel", name), await pieces(here.host)
        it, ct, tt = [await here.get(kind, name) for kind in ("it", "ct", "tt")]
        assert annotations_of(release)[CLUSTERS] == "kind-app"
        assert await here.condition(name, "Scheduled") == ("True", "", "")
        assert it["spec"] == {
            "clusters": ["kind-app"],
            "canOverride": True,
            "values": {},
            "chart": release["spec"]["environment"]["chart"],
        }
        assert ct["spec"]["clusters"] == [{"name": "kind-app", "percent": 0, "totalReplicaCount": 3}]
        assert tt["spec"]["clusters"] == [{"name": "kind-app", "weight": 0}]
        owner = {
            **{key: release[key] for key in ("apiVersion", "kind")},
            "name": name,
            "uid": release["metadata"]["uid"],
        }
        assert all(each["metadata"]["ownerReferences"] == [owner] for each in (it, ct, tt, *made.values()))
        assert all(each["metadata"]["labels"]["team"] == "a" for each in (it, ct, tt, *made.values()))
        assert {annotations_of(each)[RENDERING_ANNOTATION] for each in (it, *made.values())} == {
            annotations_of(it)[RENDERING_ANNOTATION]
        }
        assert annotations_of(it)["hanse.dev/pieces"].split(",") == sorted(made)
        assert made[name]["spec"]["template"]["metadata"]["name"] == "app-0-nginx"
        assert {name, "app-0-service-nginx", "app-0-configmap-app-0-anchor"} == set(made)
        assert (here.charts.rendered, here.wire.writes[-2:]) == (
            [name],
            [("POST", "installationtargets"), ("PATCH", f"releases/{name}/status")],
        )


async def test_37_a_release_that_lacks_nothing_is_not_written_to_nor_rendered_again_by_the_next_control_plane():
    async with stage("kind-app") as here:
        name = await here.release()
        await here.quiet()
        await here.shows(name, "it", "ct")
        await here.quiet()
        await here.shows(name, "ct", "tt")
        await here.quiet()
        done = dig(await here.get("rel", name), "status", "achievedStep")
        here.wire.writes.clear()
        await here.kill()
        here.start()
        await here.quiet(60)

        assert done == {"step": 0, "name": "staging"}
        assert (here.wire.writes, here.charts.rendered) == ([], [name])


async def test_11_and_47_without_a_cluster_it_waits_and_is_scheduled_when_one_comes():
    async with stage() as here:
        name = await here.release()
        await here.quiet()
        before = await here.condition(name, "Scheduled")
        writes = len(here.wire.writes)
        await here.quiet(30)
        silent = len(here.wire.writes) == writes
        await here.cluster("kind-app")
        await here.quiet()

        sentence = 'Not enough clusters in region "local". Required: 1 / Available: 0'
        assert (before, silent) == (("False", "NotEnoughClustersInRegion", sentence), True)
        assert await here.condition(name, "Scheduled") == ("True", "", "")
        assert await here.percents(name) == {"kind-app": 0}


async def test_killed_between_any_two_writes_the_same_is_stored_in_the_end():
    """The n-th write of a release's scheduling is the last that one control plane makes, for every n."""
    async with stage("kind-app") as here:
        killed = 0

        async def kill(_request):
            if left.pop():
                raise asyncio.CancelledError

        here.wire.before_write = kill
        for count in range(8):
            left = [True, *[False] * count]
            name = await here.release(count)
            while left:
                await here.quiet(1)
            await here.kill()
            left = [False] * 100
            here.start()
            await here.quiet()
            killed += 1
            rendered = here.charts.rendered.count(name)
            it, ct, tt = [await here.get(kind, name) for kind in ("it", "ct", "tt")]
            made = [piece for key, piece in (await pieces(here.host)).items() if key.startswith(name)]
            assert {
                it["spec"]["clusters"][0],
                ct["spec"]["clusters"][0]["name"],
                tt["spec"]["clusters"][0]["name"],
            } == {"kind-app"}
            assert len(made) == 3
            assert {annotations_of(each)[RENDERING_ANNOTATION] for each in (it, *made)} == {
                annotations_of(it)[RENDERING_ANNOTATION]
            }
            # Dying after the commit never renders again; before it, at most once more.
            assert rendered <= (2 if count < 7 else 1)
            await here.host.delete(RELEASES, name, "default")
            await here.quiet(1)
        assert killed == 8


async def test_what_an_unfinished_rendering_left_is_replaced():
    async with stage("kind-app") as here:
        extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old"}}
        here.charts.more = [extra]
        left = 5

        async def kill(_request):
            nonlocal left
            left -= 1
            if left == 0:
                raise asyncio.CancelledError

        here.wire.before_write = kill
        name = await here.release()
        await here.quiet()
        unfinished = await pieces(here.host)
        await here.kill()
        here.charts.more = [{**extra, "metadata": {"name": "new"}}]
        here.start()
        await here.quiet()
        made = await pieces(here.host)
        gone = [key for key, piece in made.items() if piece["metadata"].get("deletionTimestamp")]
        rendering = annotations_of(await here.get("it", name))[RENDERING_ANNOTATION]

        assert set(unfinished) - {"app-0-configmap-old"} < set(made)
        assert "app-0-configmap-new" in made
        assert set(gone) == set(unfinished) & {"app-0-configmap-old"}
        assert {annotations_of(made[key])[RENDERING_ANNOTATION] for key in made if key not in gone} == {rendering}


async def test_a_source_that_fails_for_now_is_tried_again_and_one_that_fails_for_good_only_after_a_change():
    async with stage("kind-app") as here:
        flaky = SourceProblem("ChartFetchFailure", "the repository does not answer", transient=True)
        here.charts.problems = [flaky, flaky]
        name = await here.release()
        await here.quiet(1.2)
        told = await here.condition(name, "Scheduled")
        await here.quiet(10)
        then = await here.condition(name, "Scheduled")
        here.charts.problems = [SourceProblem("ChartError", "it is broken")] * 2
        broken = await here.release(1)
        await here.quiet(600)
        tries = here.charts.rendered.count(broken)
        await here.annotate(broken, try_again="1")
        await here.quiet()

        assert told == ("False", "ChartFetchFailure", "the repository does not answer")
        assert (then, here.charts.rendered.count(name)) == (("True", "", ""), 3)
        assert await here.condition(broken, "Scheduled") == ("False", "ChartError", "it is broken")
        assert (tries, here.charts.rendered.count(broken)) == (1, 2)
        assert await here.percents(name) == {"kind-app": 0}


async def test_targets_of_somebody_else_are_not_taken_over_and_the_release_goes_on_once_they_are_gone():
    async with stage("kind-app") as here:
        target = {"apiVersion": CAPACITY_TARGETS.api_version, "kind": "CapacityTarget", "spec": {"clusters": []}}
        metadata = {"name": "app-0", "namespace": "default", "labels": {"shipper-app": "app"}}
        await here.host.create(CAPACITY_TARGETS, {**target, "metadata": metadata})
        name = await here.release()
        await here.quiet()
        told = await here.condition(name, "Scheduled")
        await here.host.delete(CAPACITY_TARGETS, "app-0", "default")
        await here.quiet()

        sentence = 'CapacityTarget "default/app-0" does not belong to Release "default/app-0"'
        assert told == ("False", "NotOwned", sentence)
        assert await here.condition(name, "Scheduled") == ("True", "", "")


async def test_16_a_release_of_the_same_name_waits_until_the_pieces_of_the_last_one_are_gone():
    async with stage("kind-app") as here:
        name = await here.release()
        await here.quiet()
        old = await pieces(here.host)
        await here.host.delete(RELEASES, name, "default")
        await here.quiet()
        gone = await here.get("rel", name)
        await here.release()
        await here.quiet()
        told = await here.condition(name, "Scheduled")
        for piece in old:
            await here.host.patch(PIECES, piece, {"metadata": {"finalizers": None}}, "default")
        await here.quiet()

        assert gone is None
        assert told is not None
        assert told[:2] == ("False", "NotOwned")
        assert "does not belong to Release" in told[2]
        assert await here.condition(name, "Scheduled") == ("True", "", "")
        assert len(await pieces(here.host)) == 3


async def test_48_every_cluster_has_all_replicas_and_those_that_a_person_leaves_keep_their_numbers():
    async with stage("a", "b", "c") as here:
        name = await here.release(values={"replicaCount": 4}, **TWO)
        await here.quiet()
        chosen = annotations_of(await here.get("rel", name))[CLUSTERS].split(",")
        other = next(each for each in ("a", "b", "c") if each not in chosen)
        await here.shows(name, "it")
        await here.quiet()
        before = await here.percents(name)
        here.wire.writes.clear()
        await here.annotate(name, **{CLUSTERS.replace("/", "__"): f"{chosen[0]},{other}"})
        await here.quiet()

        kept, new = sorted((chosen[0], other)), await here.percents(name)
        assert before == dict.fromkeys(chosen, 1)
        assert (sorted(new), new[chosen[0]]) == (kept, 1)
        assert sorted(await here.weights(name)) == kept
        assert {each["totalReplicaCount"] for each in dig(await here.get("ct", name), "spec", "clusters")} == {4}
        assert dig(await here.get("it", name), "spec", "clusters") == kept
        assert [path for _, path in here.wire.writes][:3] == [
            f"capacitytargets/{name}",
            f"traffictargets/{name}",
            f"installationtargets/{name}",
        ]


GADGETS = {
    "apiVersion": CRDS.api_version,
    "kind": CRDS.kind,
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
GADGET = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}


async def test_a_custom_kind_is_found_once_a_chosen_cluster_serves_it_or_where_it_comes_with_its_definition():
    async with stage("kind-app") as here:
        here.charts.more = [GADGET]
        name = await here.release()
        await here.quiet()
        unknown = await here.condition(name, "Scheduled")
        await here.kill()
        member = Client(await here.another_server("kind-app"), here.runtime)
        here.members = [Member("kind-app", member)]
        here.start()
        await here.quiet()
        nowhere = await here.condition(name, "Scheduled")
        await member.create(CRDS, GADGETS)
        await here.quiet(10)
        here.charts.more = [GADGET, GADGETS]
        here.members = []
        await here.kill()
        here.start()
        second = await here.release(1)
        await here.quiet()

        made = await pieces(here.host)
        told = "whether Gadget of example.com/v1 is served is not known: kind-app cannot be asked"
        assert unknown == ("False", "ChartError", told)
        assert nowhere is not None
        assert nowhere[2].startswith("Gadget of example.com/v1 is served by none of kind-app; install its")
        for gadget in (made[f"{each}-gadget-g"]["spec"] for each in (name, second)):
            assert (gadget["resource"]["plural"], gadget["resource"]["namespaced"]) == ("gadgets", False)
            assert "namespace" not in gadget["template"]["metadata"]


async def test_a_source_that_hangs_holds_up_neither_the_incumbent_nor_what_is_asked_of_it():
    async with stage("a", "b") as here:
        here.charts.hanging = {"app-1"}
        old = await here.release(**TWO)
        await here.complete(old)
        new = await here.release(1, **TWO)
        await here.quiet()
        await here.annotate(old, **{CLUSTERS.replace("/", "__"): "a"})
        await here.quiet(20)

        assert (await here.percents(old), await here.weights(old)) == ({"a": 100}, {"a": 100})
        assert await here.get("it", new) is None
        assert await here.condition(new, "Scheduled") is None
        assert here.charts.rendered == [old, new]


@pytest.mark.parametrize(
    ("by", "alone"),
    [("Application", False), ("Release", False), ("Release", True)],
    ids=["of the application", "of the release", "of a release without an application"],
)
async def test_clusters_that_the_author_may_not_use_are_not_chosen_until_that_changes(by, alone):
    async with stage("a") as here:
        here.rights.refused, here.rights.by = {"a": "may not"}, by
        if alone:
            await here.host.delete(APPLICATIONS, "app", "default")
            here.uid = ""
        name = await here.release()
        await here.quiet()
        told = await here.condition(name, "Scheduled")
        here.rights.change()
        await here.quiet()

        assert told is not None
        assert told[2].endswith("Available: 0 (1 not counted: a may not be used by the author)")
        assert await here.condition(name, "Scheduled") == ("True", "", "")


@pytest.mark.parametrize(
    "error",
    [Forbidden(403, "Forbidden", "no"), ServerError(500, "InternalError", "no"), NotFound(404, "NotFound", "no")],
    ids=lambda error: error.reason,
)
async def test_what_the_federation_does_not_store_is_said_tried_again_and_holds_up_no_other_release(error):
    async with stage("kind-app", start=False) as here:

        async def refuse(request):
            if "/pieces" in request.path:
                raise error

        here.wire.before_write = refuse
        old = await here.stands(0, 1, 100, complete=True)
        name = await here.release(1)
        here.start()
        await here.quiet()
        told = await here.condition(name, "Scheduled")
        for resource in (CAPACITY_TARGETS, TRAFFIC_TARGETS):
            await here.host.delete(resource, old, "default")
        await here.quiet()
        assert (await here.percents(old), await here.weights(old)) == ({"kind-app": 100}, {"kind-app": 100})
        here.wire.before_write = None
        await here.quiet(31)

        assert told == ("False", "FailedAPICall", "no")
        assert await here.condition(name, "Scheduled") == ("True", "", "")
        assert here.charts.rendered == [name]


async def test_a_target_that_somebody_deletes_is_made_again_with_what_its_release_has():
    async with stage("a", "b", start=False) as here:
        steps = {"strategy": {"steps": [STAGING, HALF, FULL_ON]}}
        old = await here.stands(0, 2, 50, complete=True, **steps, **TWO)
        new = await here.stands(1, 1, 50, complete=False, **steps, **TWO)
        here.start()
        await here.quiet()
        for name in (old, new):
            for resource in (CAPACITY_TARGETS, TRAFFIC_TARGETS):
                here.wire.writes.clear()
                await here.host.delete(resource, name, "default")
                await here.quiet()
                assert [path for method, path in here.wire.writes if "targets" in path] == [resource.plural]
            assert await here.percents(name) == await here.weights(name) == {"a": 50, "b": 50}
            assert dig(await here.get("ct", name), "spec", "clusters")[0]["totalReplicaCount"] == 3


async def test_an_installation_that_hanse_did_not_make_is_left_to_a_migration():
    async with stage("kind-app") as here:
        name = await here.release()
        await here.quiet()
        await here.host.patch(
            INSTALLATION_TARGETS, name, {"metadata": {"annotations": {RENDERING_ANNOTATION: None}}}, "default"
        )
        await here.host.patch(RELEASES, name, {"metadata": {"finalizers": None}}, "default")
        await here.quiet()

        told = 'InstallationTarget "default/app-0" was not made by Hanse; run `hanse migrate shipper`'
        assert await here.condition(name, "Scheduled") == ("False", "NotRendered", told)
        assert (await here.get("rel", name))["metadata"]["finalizers"] == [ROLLOUT_FINALIZER]
        assert here.charts.rendered == [name]
