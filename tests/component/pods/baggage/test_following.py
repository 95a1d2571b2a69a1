"""What pods name follows them, on API servers in memory and in virtual time."""

import pytest

from hanse.api.admiralty.keys import (
    FOLLOW,
    HAS_FINALIZER,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
    POD_FINALIZER,
)
from hanse.api.names import STATUS_ANNOTATION
from hanse.api.plain_kinds import CLAIMS
from hanse.kube.manifest import annotations_of, finalizers_of, labels_of, uid_of, version_of
from hanse.kube.resources import CONFIGMAPS, LEASES, NAMESPACES, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES
from tests.component.pods.baggage.travelling import travelling

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

SETTINGS = {"envFrom": [{"configMapRef": {"name": "settings"}}]}
PASSWORD = [{"name": "password", "secret": {"secretName": "password"}}]


async def test_line_65_what_a_pod_names_is_in_its_target_alone_and_nothing_else_is_touched():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        unused = await stage.create(CONFIGMAPS, "unused", data={"a": "1"})
        await stage.create(SECRETS, "password", type="Opaque", data={"p": "cw=="})
        other = await stage.create(SECRETS, "other", data={"p": "cw=="})
        await stage.pod("web", "east", container=SETTINGS, volumes=PASSWORD)
        await stage.settle()

        copy = await stage.find("east", CONFIGMAPS, "settings")
        source = await stage.find("home", CONFIGMAPS, "settings")
        assert (await stage.where(CONFIGMAPS, "settings"), await stage.where(SECRETS, "password")) == (["east"],) * 2
        assert copy["data"] == {"a": "1"}
        assert (labels_of(copy)[PARENT_UID], labels_of(copy)[PARENT_CLUSTER]) == (uid_of(source), "home")
        assert annotations_of(copy)[PARENT_NAMESPACE] == "default"
        assert annotations_of(copy)[PARENT_NAME] == "settings"
        assert finalizers_of(source) == [POD_FINALIZER]
        assert STATUS_ANNOTATION not in annotations_of(source)
        assert version_of(await stage.find("home", CONFIGMAPS, "unused")) == version_of(unused)
        assert version_of(await stage.find("home", SECRETS, "other")) == version_of(other)
        assert await stage.where(CONFIGMAPS, "unused") == await stage.where(SECRETS, "other") == []


async def test_it_is_there_before_the_pod():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle()

        paths = [path for method, path in stage.wires["east"].writes if method == "POST"]
        assert [path.rsplit("/", 1)[1] for path in paths] == ["configmaps", "leases"]


async def test_line_66_copies_follow_their_source_and_drift_is_reverted():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1", "b": "2"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle()
        await stage.home.patch(CONFIGMAPS, "settings", {"data": {"a": "3", "b": None}}, "default")
        await stage.settle()
        followed = (await stage.find("east", CONFIGMAPS, "settings"))["data"]
        await stage.clients["east"].patch(CONFIGMAPS, "settings", {"data": {"a": "wrong"}}, "default")
        await stage.settle()

        assert followed == {"a": "3"}
        assert (await stage.find("east", CONFIGMAPS, "settings"))["data"] == {"a": "3"}


async def test_line_67_a_namesake_of_the_target_is_left_alone_and_holds_no_pod_back():
    async with travelling() as stage:
        theirs = await stage.create(CONFIGMAPS, "settings", "east", data={"mine": "yes"})
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle(2.0)

        assert await stage.where(LEASES, "web") == ["east"]
        assert version_of(await stage.find("east", CONFIGMAPS, "settings")) == version_of(theirs)
        await stage.settle()
        assert "is not Hanse's" in annotations_of(await stage.find("home", CONFIGMAPS, "settings"))[STATUS_ANNOTATION]


async def test_a_pod_that_names_what_is_not_there_goes_at_once_and_it_follows_later():
    async with travelling() as stage:
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle(1.0)
        assert await stage.where(LEASES, "web") == ["east"]
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.settle()

        assert await stage.where(CONFIGMAPS, "settings") == ["east"]


async def test_what_nobody_names_is_not_even_read():
    async with travelling() as stage:
        await stage.create(SECRETS, "password", data={"p": "cw=="})
        await stage.create(SECRETS, "other", data={"p": "cw=="})
        await stage.pod("web", "east", volumes=PASSWORD)
        await stage.settle()

        asked = [request for request in stage.wires["home"].asked if "/secrets" in request.path]
        lists = [request for request in asked if request.path.endswith("/secrets")]
        assert {dict(request.query).get("labelSelector") for request in lists} == {f"{HAS_FINALIZER}=true"}
        assert {request.path.rsplit("/", 1)[1] for request in asked} == {"secrets", "password"}


async def test_a_label_that_somebody_takes_away_is_put_back_and_a_last_copy_is_still_removed():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle()
        without = {"metadata": {"labels": {HAS_FINALIZER: None}}}
        await stage.home.patch(CONFIGMAPS, "settings", without, "default")
        await stage.settle()
        relabelled = await stage.find("home", CONFIGMAPS, "settings")
        await stage.home.delete(PODS, "web", "default")
        await stage.home.patch(CONFIGMAPS, "settings", without, "default")
        await stage.settle()

        assert (labels_of(relabelled), finalizers_of(relabelled)) == ({HAS_FINALIZER: "true"}, [POD_FINALIZER])
        assert await stage.where(CONFIGMAPS, "settings") == []
        source = await stage.find("home", CONFIGMAPS, "settings")
        assert (finalizers_of(source), labels_of(source)) == ([], {})


async def test_it_moves_with_its_pod_and_goes_after_the_last_one():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.pod("api", "east", container=SETTINGS)
        await stage.settle()
        await stage.move("web", "west")
        await stage.settle()
        both = await stage.where(CONFIGMAPS, "settings")
        await stage.move("api", "west")
        await stage.settle()
        moved = await stage.where(CONFIGMAPS, "settings")
        await stage.home.delete(PODS, "web", "default")
        await stage.settle()
        one = await stage.where(CONFIGMAPS, "settings")
        await stage.home.delete(PODS, "api", "default")
        await stage.settle()

        assert (both, moved, one) == (["east", "west"], ["west"], ["west"])
        assert await stage.where(CONFIGMAPS, "settings") == []
        source = await stage.find("home", CONFIGMAPS, "settings")
        assert (finalizers_of(source), labels_of(source), source["data"]) == ([], {}, {"a": "1"})


async def test_what_was_let_go_follows_the_next_pod_again():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle()
        await stage.home.delete(PODS, "web", "default")
        await stage.settle()
        await stage.pod("web", "west", container=SETTINGS)
        await stage.settle()

        assert await stage.where(CONFIGMAPS, "settings") == ["west"]
        assert finalizers_of(await stage.find("home", CONFIGMAPS, "settings")) == [POD_FINALIZER]


async def test_a_deleted_source_takes_its_copies_along():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle()
        await stage.home.delete(CONFIGMAPS, "settings", "default")
        await stage.settle()

        assert await stage.find("home", CONFIGMAPS, "settings") is None
        assert await stage.where(CONFIGMAPS, "settings") == []


async def test_a_target_that_is_the_source_itself_has_it_already():
    async with travelling(("east", "me"), own=("me",)) as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "me", container=SETTINGS)
        await stage.settle()
        at_home = await stage.find("home", CONFIGMAPS, "settings")
        await stage.pod("api", "east", container=SETTINGS)
        await stage.settle()

        assert (await stage.find("home", LEASES, "web")) is not None
        assert (finalizers_of(at_home), annotations_of(at_home)) == ([], {})
        assert await stage.where(CONFIGMAPS, "settings") == ["east"]
        held = await stage.find("home", CONFIGMAPS, "settings")
        assert (held["data"], finalizers_of(held)) == ({"a": "1"}, [POD_FINALIZER])
        assert PARENT_UID not in labels_of(held)


async def test_accounts_claims_and_namespaces_follow_where_the_pod_asks_for_it():
    async with travelling() as stage:
        await stage.create(SERVICE_ACCOUNTS, "robot", imagePullSecrets=[{"name": "registry"}])
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv-1"}
        await stage.create(
            CLAIMS, "data", spec=claim, metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        )
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        await stage.pod("silent", "east", volumes=volumes, serviceAccountName="robot")
        await stage.settle()
        nothing = [await stage.where(SERVICE_ACCOUNTS, "robot"), await stage.where(CLAIMS, "data")]
        asks = {FOLLOW: "serviceaccounts, persistentvolumeclaims"}
        await stage.pod("asks", "east", volumes=volumes, serviceAccountName="robot", annotations=asks)
        await stage.settle()

        assert nothing == [[], []]
        account, copy = await stage.find("east", SERVICE_ACCOUNTS, "robot"), await stage.find("east", CLAIMS, "data")
        assert account["imagePullSecrets"] == [{"name": "registry"}]
        assert ("volumeName" in copy["spec"], "pv.kubernetes.io/bind-completed" in annotations_of(copy)) == (
            False,
            False,
        )
        assert "not its data" in annotations_of(await stage.find("home", CLAIMS, "data"))[STATUS_ANNOTATION]
        await stage.home.delete(PODS, "asks", "default")
        await stage.settle()
        assert (await stage.where(SERVICE_ACCOUNTS, "robot"), await stage.where(CLAIMS, "data")) == ([], ["east"])


async def test_a_namespace_that_follows_is_made_used_and_left_behind():
    async with travelling() as stage:
        await stage.create(
            NAMESPACES, "shop", metadata={"labels": {"team": "shop", "multicluster-scheduler": "enabled"}}
        )
        await stage.create(CONFIGMAPS, "settings", metadata={"namespace": "shop"}, data={"a": "1"})
        await stage.pod("web", "east", namespace="shop", container=SETTINGS, annotations={FOLLOW: "namespaces"})
        await stage.settle()
        made = await stage.find("east", NAMESPACES, "shop")
        there = await stage.where(CONFIGMAPS, "settings", "shop")
        await stage.home.delete(PODS, "web", "shop")
        await stage.settle(15)

        assert labels_of(made)["team"] == "shop"
        assert "multicluster-scheduler" not in labels_of(made)
        assert there == ["east"]
        assert await stage.where(CONFIGMAPS, "settings", "shop") == []
        assert "deletionTimestamp" not in (await stage.find("east", NAMESPACES, "shop"))["metadata"]
        assert finalizers_of(await stage.find("home", NAMESPACES, "shop")) == []


async def test_steady_is_silent():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.pod("web", "east", container=SETTINGS)
        await stage.settle()
        before = {name: len(wire.writes) for name, wire in stage.wires.items()}
        await stage.settle(120)

        assert {name: len(wire.writes) for name, wire in stage.wires.items()} == before


async def test_who_starts_anew_finds_everything_in_its_place_and_writes_nothing():
    async with travelling() as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1"})
        await stage.create(SERVICES, "web", spec={"ports": [{"port": 80}], "selector": {"app": "web"}})
        await stage.pod("web", "east", container=SETTINGS, labels={"app": "web"})
        await stage.settle()
        before = {name: len(wire.writes) for name, wire in stage.wires.items()}
        await stage.restart()
        await stage.settle(20)

        assert {name: len(wire.writes) for name, wire in stage.wires.items()} == before
        await stage.home.delete(PODS, "web", "default")
        await stage.settle()
        assert await stage.where(CONFIGMAPS, "settings") == await stage.where(SERVICES, "web") == []
