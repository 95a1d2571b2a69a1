"""Shipper's YAML on the embedded API server: what is taken word for word, and what is refused and why."""

import copy

import pytest
import pytest_asyncio

from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import APPLICATIONS, CAPACITY_TARGETS, RELEASES, ROLLOUT_BLOCKS, TRAFFIC_TARGETS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.errors import Invalid
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SystemRuntime
from tests.component.rollouts.applications.forms import EVERYTHING, TRIED, application
from tests.unit.rollouts.applications.cases import seed_environment

pytestmark = pytest.mark.asyncio(loop_scope="module")


def changed(*path, to=None):
    """Return the seed's template with one field set, or taken away."""
    environment = seed_environment()
    holder = environment
    for step in path[:-1]:
        holder = holder[step]
    if to is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = to
    return environment


def files(**source):
    return {**changed("chart"), "source": source}


def of(resource, spec):
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "x", "namespace": "default"},
        "spec": spec,
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    for crd in SHIPPER_CRDS:
        await client.apply(CRDS, crd)
    yield client
    await client.close()
    await server.close()


@pytest.mark.parametrize(
    "environment",
    [
        seed_environment(),
        changed("chart", "version", to=""),
        changed("strategy", "steps", to=[]),
        changed("clusterRequirements", "regions", to=[]),
        changed("values", to={}),
        changed("strategy", "steps", 0, "traffic", "contender", to=100_000),
        EVERYTHING,
        files(manifests={"location": "configmap://web"}),
        files(kustomization={"location": "file:///shop", "path": "overlays/eu"}),
        {key: value for key, value in files(manifests={"location": "configmap://web"}).items() if key != "values"},
    ],
)
async def test_a_template_is_kept_word_for_word(host, environment):
    taken = await host.create(APPLICATIONS, application(copy.deepcopy(environment)), options=TRIED)

    assert taken["spec"]["template"] == environment


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        (changed("chart"), "give either chart or source, and not both"),
        ({**seed_environment(), "source": {"manifests": {"location": "x"}}}, "give either chart or source"),
        (files(), "give exactly one of kustomization and manifests"),
        (changed("chart", "repoUrl"), "spec.template.chart.repoUrl: Required value"),
        (changed("values"), "a chart needs values; write {} for none"),
        (changed("strategy"), "spec.template.strategy: Required value"),
        (changed("clusterRequirements", "regions"), "spec.template.clusterRequirements.regions: Required value"),
        (changed("strategy", "steps", 0, "traffic"), "spec.template.strategy.steps[0].traffic: Required value"),
        (changed("strategy", "steps", 0, "capacity", "contender", to=101), "should be less than or equal to 100"),
        (changed("strategy", "steps", 0, "traffic", "contender", to=-1), "should be greater than or equal to 0"),
        (changed("strategy", "steps", 0, "pause", to={"duration": "soon"}), "steps[0].pause.duration: Invalid value"),
        (changed("strategy", "steps", 0, "checks", to=[{"name": "x"}]), "give either http or prometheus"),
        (changed("strategy", "onFailure", to="Explode"), 'Unsupported value: "Explode"'),
    ],
)
async def test_a_refusal_names_the_field_and_the_reason(host, environment, says):
    with pytest.raises(Invalid) as refused:
        await host.create(APPLICATIONS, application(environment), options=TRIED)

    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (of(RELEASES, {"targetStep": -1, "environment": seed_environment()}), "spec.targetStep: Invalid value: -1"),
        (of(RELEASES, {"environment": seed_environment()}), "spec.targetStep: Required value"),
        (of(CAPACITY_TARGETS, {"clusters": [{"name": "a", "percent": 101}]}), "should be less than or equal to 100"),
        (of(TRAFFIC_TARGETS, {"clusters": [{"name": "a", "weight": -1}]}), "should be greater than or equal to 0"),
        (of(ROLLOUT_BLOCKS, {"message": "no"}), "spec.author: Required value"),
    ],
)
async def test_32_numbers_out_of_bounds_and_missing_fields_are_refused(host, obj, says):
    resource = next(
        each for each in (RELEASES, CAPACITY_TARGETS, TRAFFIC_TARGETS, ROLLOUT_BLOCKS) if each.kind == obj["kind"]
    )
    with pytest.raises(Invalid) as refused:
        await host.create(resource, obj, options=TRIED)

    assert says in str(refused.value)


async def test_77_a_releases_environment_stays_what_it_was(host):
    made = await host.create(RELEASES, of(RELEASES, {"targetStep": 0, "environment": EVERYTHING}))
    stepped = await host.update(RELEASES, {**made, "spec": {**made["spec"], "targetStep": 1}})
    assert stepped["spec"]["targetStep"] == 1

    stepped["spec"]["environment"]["values"]["deep"][0]["x"] = 2
    with pytest.raises(Invalid, match="the Release environment must not be changed; consider editing the Application"):
        await host.update(RELEASES, stepped)
