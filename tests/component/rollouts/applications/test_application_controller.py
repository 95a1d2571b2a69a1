"""Applications and their releases on an API server in memory; numbers are the lines of Shipper's checklist."""

import asyncio

import pytest
import pytest_asyncio

from hanse.api.pieces import PIECES, piece_spec
from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CHART_RAW_ANNOTATION,
    CHART_RESOLVED_ANNOTATION,
    GENERATION_ANNOTATION,
    HIGHEST_GENERATION_ANNOTATION,
    RELEASES,
)
from hanse.kube.errors import AlreadyExists, BadRequest, Forbidden, Invalid, NotFound, ServerError
from hanse.kube.manifest import annotations_of, dig, name_of
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.transport import Unreachable
from hanse.rollouts.applications import environment_hash
from hanse.rollouts.applications.controller import is_final
from tests.behaviour.rollouts import FIRST, SECOND
from tests.component.rollouts.applications.stage import stage
from tests.unit.rollouts.applications.cases import seed_environment

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
THIRD = f"super-server-{environment_hash(seed_environment('0.0.3'))}-0"


@pytest_asyncio.fixture
async def host():
    async with stage() as opened:
        yield opened


async def releases(host):
    return sorted(name_of(each) for each in (await host.user.list(RELEASES, "default")).items)


async def test_1_2_3_8_9_the_seeds_application_becomes_releases(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    made = await host.user.get(RELEASES, FIRST, "default")
    assert (made["spec"]["targetStep"], annotations_of(made)[GENERATION_ANNOTATION]) == (0, "0")
    assert annotations_of(await host.application())[HIGHEST_GENERATION_ANNOTATION] == "0"
    assert await host.condition("RollingOut") == ("True", "", f'Rolling out initial release "{FIRST}"')

    await host.complete(FIRST)
    await host.until_said("RollingOut", "False", f'Release "{FIRST}" is active')

    await host.apply_seed("0.0.2")
    await host.until_said("RollingOut", "True", f'Transitioning from "{FIRST}" to "{SECOND}"')
    assert await host.history() == [FIRST, SECOND]


async def test_12_37_a_release_costs_three_writes_and_nothing_after_that(host):
    await host.rest()
    del host.wire.writes[:]
    await host.apply_seed()
    await host.rest()
    about = [(method, path.rpartition("/v1alpha1/")[2]) for method, path in host.wire.writes if "/events" not in path]
    assert about == [
        ("POST", "namespaces/default/releases"),
        ("PUT", "namespaces/default/applications/super-server"),
        ("PUT", "namespaces/default/applications/super-server/status"),
    ]

    del host.wire.writes[:]
    await host.apply_seed()
    await host.annotate(APPLICATIONS, "super-server", note="mine")
    await host.rest(300)
    assert host.wire.writes == []
    assert await releases(host) == [FIRST]


async def test_15_deleting_the_contender_returns_to_the_incumbent_while_it_is_still_held(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    await host.complete(FIRST)
    await host.apply_seed("0.0.2")
    await host.until_history(FIRST, SECOND)

    await host.user.delete(RELEASES, SECOND, "default")
    await host.until_history(FIRST)
    await host.until_said("Aborting", "False")
    app = await host.application()
    assert app["spec"]["template"]["chart"]["version"] == "0.0.1"
    assert annotations_of(app)[HIGHEST_GENERATION_ANNOTATION] == "0"
    assert annotations_of(app)[CHART_RESOLVED_ANNOTATION] == "0.0.1"

    await host.let_go(SECOND)
    await host.rest()
    assert await releases(host) == [FIRST]


async def test_16_the_only_release_comes_back_once_it_is_gone(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    before = await host.user.get(RELEASES, FIRST, "default")
    await host.user.delete(RELEASES, FIRST, "default")
    await host.rest()
    assert (await host.user.get(RELEASES, FIRST, "default"))["metadata"]["deletionTimestamp"]

    await host.let_go(FIRST)
    await host.rest()
    again = await host.user.get(RELEASES, FIRST, "default")
    assert again["metadata"]["uid"] != before["metadata"]["uid"]
    assert annotations_of(again)[GENERATION_ANNOTATION] == "0"


async def leave_behind(host, release):
    """Have a release go of which a cluster that is away keeps a piece."""
    found = await host.user.get(RELEASES, release, "default")
    owner = {key: found[key] for key in ("apiVersion", "kind")} | {
        key: found["metadata"][key] for key in ("name", "uid")
    }
    metadata = {"name": release, "namespace": "default", "labels": found["metadata"]["labels"]}
    metadata |= {"ownerReferences": [owner], "finalizers": ["hanse.dev/propagation"]}
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
    made = {"apiVersion": PIECES.api_version, "kind": PIECES.kind, "metadata": metadata}
    made["spec"] = piece_spec(CONFIGMAPS, template)
    await host.user.create(PIECES, made)
    await host.user.delete(RELEASES, release, "default")
    await host.let_go(release)
    await host.rest(1)
    await host.user.delete(PIECES, release, "default")


async def test_16_the_only_release_comes_back_when_the_last_piece_of_it_is_gone(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    await leave_behind(host, FIRST)
    await host.rest(10)
    waited = await host.condition("ReleaseSynced"), await releases(host)
    await host.user.patch(PIECES, FIRST, {"metadata": {"finalizers": None}}, "default")
    await host.rest(1)

    told = f'what clusters have of Release "{FIRST}" of the same template has yet to go'
    assert waited == (("False", "ReleaseLeaving", told), [])
    assert await releases(host) == [FIRST]


async def test_a_release_of_which_a_cluster_that_is_away_keeps_something_leaves_its_name_there(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    await leave_behind(host, FIRST)
    await host.rest(35)
    made = await host.user.get(RELEASES, "super-server-71fd5980-1", "default")

    assert annotations_of(made)[GENERATION_ANNOTATION] == "0"
    assert await host.history() == ["super-server-71fd5980-1"]
    assert await host.condition("ReleaseSynced") == ("True", "", "")


async def test_17_18_releases_beyond_the_limit_and_abandoned_ones_go(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    await host.complete(FIRST)
    await host.apply_seed("0.0.2")
    await host.until_history(FIRST, SECOND)
    await host.apply_seed("0.0.3")
    await host.rest()
    assert (await host.user.get(RELEASES, SECOND, "default"))["metadata"]["deletionTimestamp"]

    await host.let_go(SECOND)
    await host.until_history(FIRST, THIRD)
    await host.complete(THIRD)
    await host.user.patch(APPLICATIONS, "super-server", {"spec": {"revisionHistoryLimit": 1}}, "default")
    await host.apply_seed("0.0.2")
    await host.rest()
    assert (await host.user.get(RELEASES, FIRST, "default"))["metadata"].get("deletionTimestamp") is None
    await host.complete(SECOND)
    await host.user.patch(APPLICATIONS, "super-server", {"spec": {"revisionHistoryLimit": 1}}, "default")
    await host.rest()
    assert (await host.user.get(RELEASES, FIRST, "default"))["metadata"]["deletionTimestamp"]


async def test_22_a_repository_is_asked_again_until_it_answers_and_has_the_chart(host):
    host.sources.reachable = False
    await host.apply_seed()
    await host.until_said("RollingOut", "False", "the repository does not answer")
    assert (await host.condition("RollingOut"))[1] == "ChartVersionResolutionFailed"
    await host.rest(600)
    assert 5 < host.sources.asked < 30

    host.sources.reachable = True
    await host.until_history(FIRST)
    await host.complete(FIRST)
    await host.apply_seed("9.9.9")
    await host.until_said("RollingOut", "False", "there is no chart nginx")
    assert await releases(host) == [FIRST]

    host.sources.versions["9.9.9"] = "0.0.2"
    await host.rest(120)
    assert await host.history() == [FIRST, SECOND]


async def test_21_a_control_plane_that_dies_at_any_write_leaves_one_release_of_a_range(host):
    def die(request):
        if "/events" not in request.path and len(written()) >= allowed:
            raise Unreachable("host", "it is gone")

    def written():
        return [path for _, path in host.wire.writes if "/events" not in path]

    await host.rest()
    for allowed in range(4):
        del host.wire.writes[:]
        host.wire.before_write = die
        await host.apply_seed("~0.0.0", name=f"web-{allowed}")
        await host.rest()
        await host.kill()
        host.wire.before_write = lambda _request: None
        host.start()
        await host.rest()
        app = await host.application(f"web-{allowed}")

        assert dig(app, "status", "history") == [f"web-{allowed}-71fd5980-0"]
        assert app["spec"]["template"]["chart"]["version"] == "0.0.1"
        assert annotations_of(app)[CHART_RAW_ANNOTATION] == "~0.0.0"
        assert annotations_of(app)[HIGHEST_GENERATION_ANNOTATION] == "0"
    assert await releases(host) == [f"web-{allowed}-71fd5980-0" for allowed in range(4)]


async def test_two_control_planes_at_once_make_one_release(host):
    host.start()
    for version, names in (("0.0.1", [FIRST]), ("0.0.2", [FIRST, SECOND])):
        await host.apply_seed(version)
        await host.rest(30)
        assert await releases(host) == sorted(names)
        assert await host.history() == names
        await host.complete(names[-1])


async def test_a_release_that_was_completed_a_moment_ago_is_not_deleted_as_abandoned(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    completing = None

    def complete_first(request):
        nonlocal completing
        if request.method == "POST" and completing is None and request.path.endswith("/releases"):
            completing = asyncio.ensure_future(host.complete(FIRST))

    host.wire.before_write = complete_first
    await host.apply_seed("0.0.2")
    await host.rest()
    await completing

    assert "deletionTimestamp" not in (await host.user.get(RELEASES, FIRST, "default"))["metadata"]
    assert await host.history() == [FIRST, SECOND]


async def test_a_release_that_is_still_going_back_is_deleted_although_its_status_changes_meanwhile(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    await host.complete(FIRST)
    await host.user.patch(RELEASES, FIRST, {"spec": {"targetStep": 0}}, "default")
    noting = []

    def note(request):
        if request.method == "POST" and request.path.endswith("/releases"):
            noting.append(asyncio.ensure_future(host.annotate(RELEASES, FIRST, note="mine")))

    host.wire.before_write = note
    await host.apply_seed("0.0.2")
    await host.rest()
    await asyncio.gather(*noting)

    assert len(noting) == 1
    assert (await host.user.get(RELEASES, FIRST, "default"))["metadata"]["deletionTimestamp"]


async def test_80_a_release_that_the_server_refuses_is_a_condition_and_is_not_tried_again(host):
    await host.apply_seed()
    await host.until_history(FIRST)
    # A label that is longer than labels may be: the name of the application becomes one.
    app = await host.application()
    long = {"apiVersion": app["apiVersion"], "kind": app["kind"], "spec": app["spec"]}
    await host.user.create(APPLICATIONS, {**long, "metadata": {"name": "x" * 64, "namespace": "default"}})
    await host.rest(1)
    del host.wire.writes[:]
    await host.rest(300)

    found = await host.user.get(APPLICATIONS, "x" * 64, "default")
    said = {each["type"]: each for each in dig(found, "status", "conditions")}
    assert said["RollingOut"]["reason"] == said["ReleaseSynced"]["reason"] == "CreateReleaseFailed"
    assert "must be no more than 63" in said["RollingOut"]["message"]
    assert host.wire.writes == []


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (Invalid(422, "Invalid", "no"), True),
        (BadRequest(400, "BadRequest", "no"), True),
        (Forbidden(403, "Forbidden", "no"), True),
        (
            Forbidden(403, "Forbidden", "no", {"details": {"causes": [{"reason": "NamespaceTerminating"}]}}),
            False,
        ),
        (AlreadyExists(409, "AlreadyExists", "no"), False),
        (NotFound(404, "NotFound", "no"), False),
        (ServerError(500, "InternalError", "no"), False),
    ],
)
def test_80_only_what_cannot_succeed_later_is_given_up(error, final):
    assert is_final(error) == final
