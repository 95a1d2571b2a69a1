"""Charts of different shapes, and one application that comes from a chart, a kustomization and plain manifests."""

import asyncio

import pytest

from hanse.api.shipper.kinds import APPLICATIONS, RELEASES
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig, labels_of, name_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SERVICES
from hanse.simulator.workloads.kinds import CRON_JOBS, STATEFUL_SETS
from tests.behaviour.rollouts import achieved, condition, pods_of, rolling_out
from tests.rollout_charts.packing import SHAPES, texts
from tests.rollout_charts.repository import chart_repository
from tests.simulation.rollouts.applications import FULL_ON, STAGING, strategy

REGION = "east"
# What a chart leaves in the cluster beside its Deployment and its Service.
BESIDE = {
    "nginx": {},
    "shop": {STATEFUL_SETS: {"shop-cache"}, SERVICES: {"shop-cache"}},
    "storefront": {CONFIGMAPS: {"storefront"}, SERVICES: {"storefront-admin"}},
    "reports": {CRON_JOBS: {"reports-daily", "reports-monthly"}},
    "typed": {},
}


@pytest.fixture
async def placed(federation):
    await asyncio.to_thread(federation.put_in, REGION)
    return federation


def application(name, steps, template):
    template = {
        "clusterRequirements": {"regions": [{"name": REGION}]},
        "strategy": strategy(steps),
        "values": {},
        **template,
    }
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "metadata": {"name": name},
        "spec": {"template": template},
    }


def chart(federation, name, version, **values):
    return {"chart": {"name": name, "version": version, "repoUrl": federation.repository.url}, "values": values}


async def is_active(people, name, generation):
    """Wait until the release of a generation is complete; return its name."""

    def active(found):
        history = dig(found, "status", "history", default=[])
        return len(history) == generation + 1 and rolling_out(found) == ("False", f'Release "{history[-1]}" is active')

    stored = await people.until(APPLICATIONS, name, active)
    return stored["status"]["history"][-1]


async def images_of(cluster, release):
    pods = await cluster.pods(**{"shipper-release": release})
    return {container["image"] for pod in pods for container in pod["spec"]["containers"]} - {"cache:3"}


async def test_charts_of_every_shape_are_installed_upgraded_and_rolled_back(placed):
    async with placed.people("shapes") as (people, cluster):

        async def live(shape):
            await people.apply(application(shape, [FULL_ON], chart(placed, shape, "0.0.1")))
            for generation, version in enumerate(("0.0.1", "0.0.2", "0.0.1")):
                if generation:
                    await people.change(APPLICATIONS, shape, {"spec": {"template": {"chart": {"version": version}}}})
                release = await is_active(people, shape, generation)
                assert await images_of(cluster, release) == {f"{shape}:{version}"}
                for resource, names in BESIDE[shape].items():
                    theirs = {name_of(each) for each in await cluster.all(resource) if in_release(each, release)}
                    assert names <= theirs

        await asyncio.gather(*(live(shape) for shape in SHAPES))


def in_release(obj, release):
    return labels_of(obj).get("shipper-release") == release


async def test_a_chart_a_kustomization_and_plain_manifests_give_the_same_rollout(placed):
    sources = {
        "chart": lambda version: chart(placed, "nginx", version, replicaCount=3),
        "kustomization": lambda version: {"source": {"kustomization": {"location": f"configmap://files-{version}"}}},
        "plain": lambda version: {"source": {"manifests": {"location": f"configmap://files-{version}"}}},
    }
    stories = await asyncio.gather(*(story(placed, kind, template) for kind, template in sources.items()))

    assert stories[0] == stories[1] == stories[2]
    assert [pods for pods, *_ in stories[0]] == [
        {"0.0.1": (1, 0)},
        {"0.0.1": (3, 3)},
        {"0.0.1": (3, 3), "0.0.2": (1, 0)},
        {"0.0.2": (3, 3)},
    ]


async def story(federation, kind, template):
    """Lead an application from one version to the next; return what the cluster shows after every step."""
    async with federation.people(f"as-{kind}") as (people, cluster):
        if kind != "chart":
            for version in ("0.0.1", "0.0.2"):
                await people.apply(files(kind, version))
        seen = []
        await people.apply(application("same", [STAGING, FULL_ON], template("0.0.1")))
        first = await release_of(people, 1)
        await achieved(people, first, 0, "staging")
        seen.append(await shown(cluster))
        await people.change(RELEASES, first, {"spec": {"targetStep": 1}})
        await achieved(people, first, 1, "full on")
        seen.append(await shown(cluster))
        await people.change(APPLICATIONS, "same", {"spec": {"template": template("0.0.2")}})
        second = await release_of(people, 2)
        await achieved(people, second, 0, "staging")
        seen.append(await shown(cluster))
        await people.change(RELEASES, second, {"spec": {"targetStep": 1}})
        await achieved(people, second, 1, "full on")
        seen.append(await shown(cluster))
        return seen


def files(kind, version):
    folder = "nginx-kustomization" if kind == "kustomization" else "nginx-plain"
    data = {name: text.replace("0.0.1", version) for name, text in texts(folder).items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"files-{version}"}, "data": data}


async def release_of(people, count):
    stored = await people.until(
        APPLICATIONS, "same", lambda found: len(dig(found, "status", "history", default=[])) == count
    )
    return stored["status"]["history"][-1]


async def shown(cluster):
    """Return the pods and those of them in traffic by version, the Deployments' templates and the Service."""
    pods, templates = {}, {}
    for deployment in await cluster.all(DEPLOYMENTS):
        template = deployment["spec"]["template"]
        version = template["spec"]["containers"][0]["image"].partition(":")[2]
        templates[version] = template["spec"]
        found = await pods_of(cluster, labels_of(deployment)["shipper-release"])
        if found != (0, 0):
            pods[version] = found
    service = (await cluster.get(SERVICES, "nginx"))["spec"]
    return pods, templates, service["ports"], {key for key in service["selector"] if key != "shipper-app"}


async def test_what_cannot_be_rendered_or_found_is_one_sentence_and_the_incumbent_stays(placed):
    async with placed.people("mistakes") as (people, cluster):
        await people.apply(application("web", [FULL_ON], chart(placed, "nginx", "0.0.1", replicaCount=3)))
        first = await is_active(people, "web", 0)
        pods = {name_of(pod) for pod in await cluster.pods(**{"shipper-release": first})}
        for name, reason, words in (
            ("two-deployments", "WrongChartDeployments", "Deployment"),
            ("two-services", "ChartError", "one and only one"),
            ("constant-name", "ChartError", "name"),
            ("syntax", "ChartError", "deployment.yaml"),
        ):
            await people.change(APPLICATIONS, "web", {"spec": {"template": chart(placed, name, "0.0.1")}})
            release = await unscheduled(people, name)
            assert release["reason"] == reason
            assert words in release["message"]
        for name, version, missing in (("nginx", "7.x", "7.x"), ("nothing", "0.0.1", "nothing")):
            await people.change(APPLICATIONS, "web", {"spec": {"template": chart(placed, name, version)}})
            await people.until(APPLICATIONS, "web", is_unresolved(missing))
        assert await pods_of(cluster, first) == (3, 3)
        assert {name_of(pod) for pod in await cluster.pods(**{"shipper-release": first})} == pods


async def test_a_repository_that_hangs_stops_nothing_that_is_known_and_is_said_of_what_is_not(placed):
    with chart_repository({"nginx": ("0.0.1", "0.0.2")}) as repository:

        def chart_of(version, replicas):
            template = {"name": "nginx", "version": version, "repoUrl": repository.url}
            return {"chart": template, "values": {"replicaCount": replicas}}

        async with placed.people("hanging") as (people, cluster):
            await people.apply(application("web", [FULL_ON], chart_of("0.0.1", 1)))
            await is_active(people, "web", 0)
            repository.hang()
            await people.change(APPLICATIONS, "web", {"spec": {"template": chart_of("0.0.1", 2)}})
            second = await is_active(people, "web", 1)
            await people.change(APPLICATIONS, "web", {"spec": {"template": chart_of("0.0.2", 2)}})
            told = await unscheduled(people, "nginx")
            assert told["reason"] == "ChartFetchFailure"
            assert "no answer" in told["message"]
            assert await pods_of(cluster, second) == (2, 2)


async def unscheduled(people, name):
    """Wait until the contender of a chart says why it goes nowhere; return that condition."""

    def refused(found):
        theirs = [each for each in found.values() if each["spec"]["environment"]["chart"]["name"] == name]
        return next((each for each in theirs if condition(each, "Scheduled", "False")), None)

    release = await people.until_all(RELEASES, refused)
    return find_condition(release["status"]["conditions"], "Scheduled")


def is_unresolved(missing):
    def holds(found):
        rolling = find_condition(dig(found, "status", "conditions", default=[]), "RollingOut") or {}
        return rolling.get("reason") == "ChartVersionResolutionFailed" and missing in rolling["message"]

    return holds
