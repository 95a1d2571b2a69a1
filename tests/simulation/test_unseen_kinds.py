"""Custom kinds that nobody here has seen federate with `hanse enable` alone, on virtual time."""

import pytest

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.cli.enable import enable_kind, taught_spec
from hanse.cli.type_directives import TypeDirective
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.errors import Invalid
from hanse.kube.manifest import dig
from hanse.kube.patches.json_patch import apply_json_patch
from hanse.kube.resources import CRDS
from tests.behaviour.unseen_kinds import (
    BODIES,
    CREW_SIZE,
    CREWS,
    DEFINITIONS,
    HARBOURS,
    KETTLES,
    OVERRIDES,
    federated,
    plain,
)
from tests.simulation.world import federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

KINDS = (KETTLES, HARBOURS, CREWS)


async def enabled(world):
    """Type what a newcomer types: the definitions, then each kind, one of them with the place of its replicas."""
    for definition in DEFINITIONS:
        await world.host.create(CRDS, definition)
    for kind in ("customresourcedefinitions", "kettles", "harbours", "crews"):
        await world.until(lambda kind=kind: serves(world, kind))
        where = ".".join(CREW_SIZE) if kind == "crews" else ""
        await enable_kind(world.host, TypeDirective(kind), taught_spec(where, "", "", "", ()))


async def serves(world, plural):
    world.host.discovery.forget()
    return plural in {resource.plural for resource in await world.host.discovery.resources()}


async def contents(world, kind, name):
    """What each cluster has of an object, its metadata aside; nothing of clusters that do not serve the kind."""
    found = {cluster: await world.find(cluster, kind, name) for cluster in world.clusters}
    kept = {cluster: {field: (obj or {}).get(field) for field in BODIES[kind]} for cluster, obj in found.items()}
    return {cluster: fields for cluster, fields in kept.items() if found[cluster] is not None}


def expected(kind):
    """What the template of a kind becomes in an ordinary cluster and in the other one."""
    body = dict(BODIES[kind])
    if kind == KETTLES:
        body["spec"] = {**body["spec"], "label": "plain"}
    path, value = OVERRIDES[kind]
    return {"a": body, "b": apply_json_patch(body, [{"op": "replace", "path": path, "value": value}])}


async def test_three_kinds_that_nobody_has_seen_federate_once_they_are_enabled():
    """Plain objects go everywhere, replicas divide where they were said to be, overrides reach every shape."""
    async with federation("a", "b", forms=(FORM_D,)) as world:
        await enabled(world)
        for kind in KINDS:
            await world.host.create(kind, plain(kind))
            await world.host.create(template_resource(FORM_D, kind), federated(kind, "b"))

        async def as_expected():
            return [await contents(world, kind, "held") for kind in KINDS] == [expected(kind) for kind in KINDS]

        await world.until(as_expected)

        async def plain_everywhere():
            return all([len(await contents(world, kind, "plain")) == 2 for kind in KINDS])

        await world.until(plain_everywhere)
        crews = await contents(world, CREWS, "plain")
        assert {name: dig(crew, *CREW_SIZE) for name, crew in crews.items()} == {"a": 3, "b": 3}
        assert {crew["spec"]["pool"]["tag"] for crew in crews.values()} == {"red"}

        await reports_and_schemas(world)
        await what_members_say_is_theirs(world)
        for kind in KINDS:
            namespace = "default" if kind.namespaced else ""
            await world.host.delete(kind, "plain", namespace)
            await world.host.delete(template_resource(FORM_D, kind), "held", namespace)

        async def gone():
            return not any([await contents(world, kind, name) for kind in KINDS for name in ("plain", "held")])

        await world.until(gone)


async def reports_and_schemas(world):
    """Every federated object says that all is well; only kinds with spec.replicas may leave replicas to members."""

    async def well(kind):
        namespace = "default" if kind.namespaced else ""
        obj = await world.host.get(template_resource(FORM_D, kind), "held", namespace)
        condition = find_condition(dig(obj, "status", "conditions"), "Propagation") or {}
        clusters = {each["name"]: each.get("status", "") for each in dig(obj, "status", "clusters", default=[])}
        return condition.get("status") == "True" and clusters == {"a": "", "b": ""}

    for kind in KINDS:
        await world.until(lambda kind=kind: well(kind))
        crd = await world.host.get(CRDS, template_resource(FORM_D, kind).group_resource)
        assert is_true(dig(crd, "status", "conditions"), "Established")
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        assert {"template", "placement", "overrides"} <= set(spec)
        assert "retainReplicas" not in spec
    bad = federated(KETTLES, "b", "bad")
    bad["spec"]["template"] = {"spec": {"litres": "many"}}
    with pytest.raises(Invalid, match=r"spec\.template\.spec\.litres"):
        await world.host.create(template_resource(FORM_D, KETTLES), bad)


async def what_members_say_is_theirs(world):
    """A status that a member's controller writes stays; what somebody changes of the template is put back."""
    warm = {"status": {"celsius": 90}}
    await world.clients["a"].patch(KETTLES, "held", warm, "default", subresource="status")
    await world.clients["a"].patch(KETTLES, "held", {"spec": {"litres": 40}}, "default")

    async def mended():
        kettle = await world.find("a", KETTLES, "held")
        return dig(kettle, "spec", "litres") == 2 and kettle["status"] == warm["status"]

    await world.until(mended)
