"""Google's load balancer made, changed, narrowed and removed, against an API that keeps to its documentation."""

import asyncio
import base64
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio

from hanse.api.plain_kinds import INGRESSES
from hanse.kube.resources import SECRETS
from hanse.services.ingress.balancer import Refused, Standing, Wish
from hanse.services.ingress.copies import delete_copies, ensure_copies
from hanse.services.ingress.gce.balancer import GceBalancer
from hanse.services.ingress.gce.compute import Compute
from tests.component.services.ingress.clusters import BACKEND, Hurried, clusters, ingress, tell_groups
from tests.component.services.ingress.compute_server import PROJECT, TOKEN, ComputeServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

PIECES = ["hc-30061", "be-30061", "um", "tp", "fw", "fr"]


async def token():
    return TOKEN


class Stage:
    """Two clusters, a project, and what was told of each step."""

    def __init__(self, server, clients, session):
        self.server = server
        self.clients = clients
        self.told = []
        self.balancer = GceBalancer(Compute(session, PROJECT, token, Hurried(), api=server.url))
        for name in clients:
            self.zone = server.add_cluster(f"ig-{name}", f"gke-{name}", {"port30061": 30061})

    async def create(self, wanted=None, *, force=False, name="zone-printer"):
        wanted = wanted or ingress()
        await ensure_copies(wanted, self.clients, force=force, tell=self.told.append)
        noting = [tell_groups(client, self.zone, f"ig-{each}") for each, client in self.clients.items()]
        await asyncio.gather(
            *noting, self.balancer.ensure(Wish(name, wanted, self.clients), force=force, tell=self.told.append)
        )

    def wish(self, *names, name="zone-printer"):
        return Wish(name, ingress(), {each: self.clients[each] for each in names or self.clients})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients():
    async with clusters("east", "west") as opened:
        yield opened


@pytest.fixture
def stage(clients):
    """Return what opens an empty project before clusters without an Ingress."""

    @asynccontextmanager
    async def opened():
        for client in clients.values():
            await client.delete_collection(INGRESSES, "default")
        async with ComputeServer(slow=True).serving() as server, aiohttp.ClientSession() as session:
            yield Stage(server, clients, session)

    return opened


def named(*kinds):
    return [f"mci1-{kind}--zone-printer" for kind in kinds]


async def test_it_is_made_piece_by_piece_after_the_ingress_is_in_every_cluster(stage):
    """Line 105 of docs/reference/federation-v1.md."""
    async with stage() as on:
        await on.create()

        assert on.server.names() == named(*PIECES)
        assert on.told[:2] == ["Created Ingress in cluster: east", "Created Ingress in cluster: west"]
        created = [line for line in on.told if line.endswith("created successfully")]
        assert [line.split()[-3] for line in created] == named(*PIECES)
        assert on.server.find("mci1-fr--zone-printer")["targetTags"] == ["gke-east", "gke-west"]
        groups = [
            each["group"].rpartition("/")[2] for each in on.server.find("mci1-be-30061--zone-printer")["backends"]
        ]
        assert groups == ["ig-east", "ig-west"]
        standing = Standing("zone-printer", "203.0.113.7", ("east", "west"))
        assert await on.balancer.find("zone-printer") == standing
        assert await on.balancer.list() == [standing]
        assert await on.balancer.find("other") is None


async def test_asked_again_it_writes_nothing(stage):
    async with stage() as on:
        await on.create()
        on.server.requests.clear()
        await on.create()

        assert [each for each in on.server.requests if "listInstances" not in each[1]] == []
        assert on.told[-1] == "Desired firewall rule mci1-fr--zone-printer exists already"


async def test_a_changed_url_map_is_refused_without_force_and_updated_with_it(stage):
    """Line 107 of docs/reference/federation-v1.md."""
    changed = ingress(
        rules=[{"host": "a.example.com", "http": {"paths": [{"pathType": "Prefix", "path": "/", "backend": BACKEND}]}}]
    )
    async with stage() as on:
        await on.create()
        on.server.requests.clear()
        for client in on.clients.values():
            present = await client.get(INGRESSES, "zoneprinter", "default")
            await client.update(INGRESSES, {**present, "spec": changed["spec"]})
        with pytest.raises(Refused, match="will not overwrite url map mci1-um--zone-printer without --force"):
            await on.create(changed)
        refused = [each for each in on.server.requests if "listInstances" not in each[1]]
        await on.create(changed, force=True)

        assert refused == []
        assert on.server.find("mci1-um--zone-printer")["hostRules"][0]["hosts"] == ["a.example.com"]


async def test_a_cluster_whose_ingress_differs_is_refused_before_any_other_is_written(stage):
    async with stage() as on:
        other = ingress()
        other["spec"]["defaultBackend"] = {"service": {"name": "other", "port": {"number": 80}}}
        await on.clients["west"].create(INGRESSES, other)
        with pytest.raises(Refused, match="will not overwrite Ingress resource in cluster 'west' without --force"):
            await on.create()

        assert await on.clients["east"].find(INGRESSES, "zoneprinter", "default") is None
        await on.create(force=True)
        assert (await on.clients["west"].get(INGRESSES, "zoneprinter", "default"))["spec"]["defaultBackend"] == BACKEND


async def test_encryption_takes_the_certificate_from_the_secret_of_the_ingress(stage):
    async with stage() as on:
        data = {name: base64.b64encode(text).decode() for name, text in (("tls.crt", b"PEM"), ("tls.key", b"KEY"))}
        secret = {"metadata": {"name": "key", "namespace": "default"}, "type": "kubernetes.io/tls", "data": data}
        for client in on.clients.values():
            await client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret})
        await on.create(ingress(tls=[{"secretName": "key"}]))

        assert on.server.names() == named("hc-30061", "be-30061", "um", "tp", "fw", "ssl", "tps", "fws", "fr")
        assert on.server.find("mci1-ssl--zone-printer")["certificate"] == "PEM"


async def test_one_cluster_leaves_and_the_last_only_by_force(stage):
    """Line 108 of docs/reference/federation-v1.md."""
    async with stage() as on:
        await on.create()
        on.told.clear()
        with pytest.raises(Refused, match="This will remove the ingress from all clusters"):
            await on.balancer.remove_clusters(on.wish(), force=False, tell=on.told.append)
        assert on.told == []

        await on.balancer.remove_clusters(on.wish("west"), force=False, tell=on.told.append)
        backends = on.server.find("mci1-be-30061--zone-printer")["backends"]
        assert [each["group"].rpartition("/")[2] for each in backends] == ["ig-east"]
        assert on.server.find("mci1-fr--zone-printer")["targetTags"] == ["gke-east"]
        assert (await on.balancer.find("zone-printer")).clusters == ("east",)

        await on.balancer.remove_clusters(on.wish("east"), force=True, tell=on.told.append)
        assert "mci1-fr--zone-printer" not in on.server.names()
        assert (await on.balancer.find("zone-printer")).clusters == ()


async def test_what_does_not_exist_has_no_clusters_to_remove(stage):
    async with stage() as on:
        with pytest.raises(Refused, match="Load balancer zone-printer does not exist"):
            await on.balancer.remove_clusters(on.wish("west"), force=False, tell=on.told.append)


async def test_it_is_removed_whole_though_the_node_port_has_changed_since_and_nothing_else_is(stage):
    async with stage() as on:
        await on.create()
        theirs = {"name": "k8s-be-30061", "description": "somebody's own"}
        on.server.resources["backendServices"]["k8s-be-30061"] = theirs
        await on.balancer.delete(on.wish(), force=False, tell=on.told.append)
        await delete_copies(ingress(), on.clients, tell=on.told.append)

        assert on.server.names() == []
        assert on.server.resources["backendServices"] == {"k8s-be-30061": theirs}
        assert await on.clients["east"].find(INGRESSES, "zoneprinter", "default") is None
        assert "SSL cert mci1-ssl--zone-printer does not exist. Nothing to delete" in on.told


async def test_force_goes_on_after_what_cannot_be_removed_and_tells_of_it_all_the_same(stage):
    async with stage() as on:
        await on.create()
        on.server.broken.add("firewalls/")
        with pytest.raises(Refused, match="currently unavailable"):
            await on.balancer.delete(on.wish(), force=False, tell=on.told.append)
        left = on.server.names()
        with pytest.raises(Refused, match="currently unavailable"):
            await on.balancer.delete(on.wish(), force=True, tell=on.told.append)

        assert left == named(*PIECES)
        assert on.server.names() == named("fr")


async def test_what_a_failure_left_unfinished_is_finished_when_it_is_asked_for_again(stage):
    async with stage() as on:
        on.server.broken.add("POST global/forwardingRules")
        with pytest.raises(Refused, match="currently unavailable"):
            await on.create()
        begun = on.server.names()
        on.server.broken.clear()
        await on.create()

        assert begun == named(*PIECES[:4])
        assert on.server.names() == named(*PIECES)


async def test_an_address_that_is_not_reserved_is_refused_before_any_piece_is_made(stage):
    async with stage() as on:
        on.server.resources["addresses"].clear()
        with pytest.raises(Refused, match="there is no global address shared-ip in the project"):
            await on.create()

        assert on.server.names() == []


async def test_a_cluster_that_names_no_port_of_the_service_stops_it_after_the_health_checks(stage):
    async with stage() as on:
        for path, group in on.server.zonal.items():
            if path.endswith("instanceGroups/ig-east"):
                group["namedPorts"] = []
        with pytest.raises(Refused, match="No named ports found for 30061"):
            await on.create()

        assert on.server.names() == named("hc-30061")


async def test_a_piece_of_that_name_that_is_somebody_elses_is_neither_overwritten_nor_removed(stage):
    async with stage() as on:
        theirs = {"name": "mci1-um--zone-printer", "description": "mine", "fingerprint": "f"}
        on.server.resources["urlMaps"] = {"mci1-um--zone-printer": theirs}
        with pytest.raises(
            Refused, match="url map mci1-um--zone-printer is there already and belongs to somebody else"
        ):
            await on.create(force=True)
        with pytest.raises(Refused, match="mci1-um--zone-printer: it belongs to somebody else"):
            await on.balancer.delete(on.wish(), force=True, tell=on.told.append)

        assert on.server.resources["urlMaps"] == {"mci1-um--zone-printer": theirs}
