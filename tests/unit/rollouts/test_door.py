"""What each piece of a release means: where it goes, with how many replicas, and who speaks for what releases share."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.api.names import ADOPT_ANNOTATION, AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.api.pieces import PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION, piece_spec
from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    CAPACITY_TARGETS,
    CLUSTERS_ANNOTATION,
    GENERATION_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASE_LABEL,
    RELEASES,
)
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj
from hanse.kube.packing import pack
from hanse.kube.resources import DEPLOYMENTS, SERVICES, Resource
from hanse.propagation.door import keyed
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.rollouts.door import RolloutDoor

RELEASE = "shop-1a2b-0"


def piece(name: str = RELEASE, resource: Resource = DEPLOYMENTS, *, digest: str = "d1", generation: str = "3") -> Obj:
    template: Obj = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "shop", "namespace": "team"},
        "spec": {"replicas": 0} if resource == DEPLOYMENTS else {"clusterIP": "", "ports": [{"port": 80}]},
    }
    return {
        "apiVersion": "hanse.dev/v1alpha1",
        "kind": "Piece",
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid of {name}",
            "labels": {APP_LABEL: "shop", RELEASE_LABEL: RELEASE},
            "annotations": {RENDERING_ANNOTATION: digest, GENERATION_ANNOTATION: generation},
        },
        "spec": piece_spec(resource, template),
    }


def installation(clusters: list[str], names: str = f"{RELEASE},service", digest: str = "d1") -> Obj:
    annotations = {RENDERING_ANNOTATION: digest, PIECES_ANNOTATION: names}
    return {
        "metadata": {"name": RELEASE, "namespace": "team", "annotations": annotations},
        "spec": {"clusters": clusters},
    }


def capacity(**percents: int) -> Obj:
    entries = [{"name": name, "percent": each, "totalReplicaCount": 3} for name, each in percents.items()]
    return {"metadata": {"name": RELEASE, "namespace": "team"}, "spec": {"clusters": entries}}


def door(*pieces: Obj, **others: Any) -> RolloutDoor:
    application = {"metadata": {"name": "shop", "namespace": "team"}}
    inputs = {
        PIECES: pieces,
        INSTALLATION_TARGETS: [each for each in [others.get("installed")] if each],
        CAPACITY_TARGETS: [each for each in [others.get("capacity")] if each],
        APPLICATIONS: [application],
        RELEASES: [each for each in [others.get("release")] if each],
    }
    return RolloutDoor().informed(keyed(inputs))


def replicas_of(intent: Intent | Problem) -> dict[str, int]:
    assert isinstance(intent, Intent)
    return {name: each.patch[0]["value"] for each in intent.overrides for name in each.clusters.names or ()}


def test_the_deployment_of_a_release_has_in_each_cluster_what_its_capacity_says() -> None:
    source = piece()
    known = door(source, installed=installation(["east", "west"]), capacity=capacity(east=1, west=100))
    intent = known.translate(source)
    assert isinstance(intent, Intent)
    assert known.target(Ref(PIECES, Key("team", RELEASE))) == Ref(DEPLOYMENTS, Key("team", "shop"))
    assert intent.placement.clusters.names == ("east", "west")
    assert replicas_of(intent) == {"east": 1, "west": 3}
    assert intent.replicas is None


def test_without_a_capacity_nothing_is_said_of_the_deployment_alone_and_what_there_is_of_it_stays() -> None:
    deployment, service = piece(), piece("service", SERVICES)
    known = door(deployment, service, installed=installation(["east"]))
    told = f"CapacityTarget team/{RELEASE} says how many replicas it has, and is not there"
    assert known.translate(deployment) == Problem("NotSized", told, expected=True)
    assert isinstance(known.translate(service), Intent)


def test_what_is_no_deployment_of_a_release_has_no_replicas() -> None:
    source = piece("service", SERVICES)
    known = door(source, installed=installation(["east"]), capacity=capacity(east=100))
    assert replicas_of(known.translate(source)) == {}


@pytest.mark.parametrize(
    "installed",
    [
        None,
        installation(["east"], digest="of another rendering"),
        installation(["east"], names="service"),
    ],
    ids=["without a target", "of another rendering", "not named"],
)
def test_a_piece_of_an_incomplete_rendering_goes_nowhere_and_speaks_for_nothing(installed: Obj | None) -> None:
    source = piece()
    known = door(source, installed=installed)
    assert not known.admits(source)
    assert known.kin(source).rank == -1


def test_of_releases_of_one_application_the_newest_speaks() -> None:
    source = piece()
    known = door(source, installed=installation(["east"]))
    assert known.admits(source)
    assert (known.kin(source).family, known.kin(source).rank) == ("team/shop", 3)


def test_a_piece_that_was_taken_over_adopts_what_is_there() -> None:
    source = piece()
    source["metadata"]["annotations"][ADOPT_ANNOTATION] = "true"
    intent = door(source, installed=installation(["east"]), capacity=capacity(east=1)).translate(source)
    assert isinstance(intent, Intent)
    assert intent.adopt


def test_a_federation_without_applications_follows_nothing_but_pieces() -> None:
    asleep = door()
    assert list(asleep.inputs) == [PIECES]
    assert asleep.affected(PIECES, Change(Key("team", RELEASE), None, pack(piece()))).everything
    awake = door(piece())
    assert INSTALLATION_TARGETS in awake.inputs
    assert not awake.affected(PIECES, Change(Key("team", RELEASE), None, pack(piece()))).everything


def test_a_changed_capacity_concerns_the_deployment_alone_and_changed_clusters_every_piece() -> None:
    known = door()
    key = Key("team", RELEASE)
    changed = Change(key, None, pack(capacity(east=1)))
    assert known.affected(CAPACITY_TARGETS, changed).refs == (Ref(PIECES, key),)
    moved = Change(key, pack(installation(["east"])), pack(installation(["west"])))
    assert known.affected(INSTALLATION_TARGETS, moved).refs == (Ref(PIECES, key), Ref(PIECES, Key("team", "service")))
    told = {**installation(["east"]), "status": {"conditions": []}}
    assert not known.affected(INSTALLATION_TARGETS, Change(key, pack(installation(["east"])), pack(told))).refs


@pytest.mark.parametrize("spec", [{}, {"resource": {}, "template": {}}, {"resource": None}, None])
def test_a_piece_that_cannot_be_read_means_nothing_and_harms_nobody(spec: Any) -> None:
    source = {**piece(), "spec": spec}
    known = door(source, installed=installation(["east"]))
    ref = Ref(PIECES, Key("team", RELEASE))
    assert known.target(ref) == ref
    assert not known.admits(source)


def release(clusters: str = "east,west", author: str = "anna", groups: str = "dev") -> Obj:
    stamped = {AUTHOR_ANNOTATION: author, AUTHOR_GROUPS_ANNOTATION: groups}
    annotations = {**stamped, CLUSTERS_ANNOTATION: clusters}
    return {"kind": "Release", "metadata": {"name": RELEASE, "namespace": "team", "annotations": annotations}}


def owned(source: Obj) -> Obj:
    owner = {"apiVersion": RELEASES.api_version, "kind": "Release", "name": RELEASE, "uid": "r"}
    return {**source, "metadata": {**source["metadata"], "ownerReferences": [owner]}}


def test_whoever_says_where_a_piece_goes_or_how_much_of_it_is_heard() -> None:
    workload, service = piece(), piece("service", SERVICES)
    placed, sized, made = installation(["east"]), capacity(east=100), release()
    known = door(workload, service, installed=placed, capacity=sized, release=made)
    application = {"metadata": {"name": "shop", "namespace": "team"}}
    of_service, of_workload = known.translate(service), known.translate(workload)
    assert isinstance(of_service, Intent)
    assert isinstance(of_workload, Intent)
    assert of_service.voices == (application, made, placed)
    assert of_workload.voices == (application, made, placed, sized)


def test_those_who_say_where_an_older_release_is_are_heard_where_the_newer_one_is_not() -> None:
    newer, older = piece("service", SERVICES), piece("service-of-old", SERVICES, digest="d0", generation="1")
    older["metadata"]["labels"] = {APP_LABEL: "shop", RELEASE_LABEL: "old"}
    beside, made = installation(["west"], names="service-of-old", digest="d0"), release("north")
    for each in (beside, made):
        each["metadata"]["name"] = "old"
    targets = [installation(["east"]), beside]
    known = RolloutDoor().informed(keyed({PIECES: [newer, older], INSTALLATION_TARGETS: targets, RELEASES: [made]}))
    intent = known.translate(newer)
    assert isinstance(intent, Intent)
    together = known.shared(intent, [older])
    assert together.voices == (installation(["east"]), older, made, beside)
    assert [name for name, _ in together.placement.forbidden] == ["west"]


def test_a_cluster_is_not_opened_before_it_is_known_who_has_the_release_name_it() -> None:
    source = owned(piece())
    placed, sized = installation(["east", "west"]), capacity(east=1, west=1)
    unknown = door(source, installed=placed, capacity=sized).translate(source)
    assert isinstance(unknown, Problem)
    assert unknown.expected
    behind = door(source, installed=placed, capacity=sized, release=release("east")).translate(source)
    assert isinstance(behind, Intent)
    assert [name for name, _ in behind.placement.forbidden] == ["west"]
    refused = behind.without({"east": "anna may not use cluster east"})
    assert [name for name, _ in refused.placement.forbidden] == ["east", "west"]
    current = door(source, installed=placed, capacity=sized, release=release()).translate(source)
    assert isinstance(current, Intent)
    assert current.placement.forbidden == ()


@pytest.mark.parametrize(
    ("old", "new", "heard"),
    [
        (release(), {**release(), "status": {"conditions": []}}, False),
        (release(), release(author="bob"), True),
        (release(), release(groups="ops"), True),
        (release("east"), release("east,west"), True),
        (None, release(), True),
        (release(), None, True),
    ],
    ids=["told", "another author", "other groups", "other clusters", "came", "went"],
)
def test_what_another_author_wrote_is_looked_at_again(old: Obj | None, new: Obj | None, heard: bool) -> None:
    known = door(piece(), installed=installation(["east"]))
    key = Key("team", RELEASE)
    change = Change(key, None if old is None else pack(old), None if new is None else pack(new))
    pieces = (Ref(PIECES, key), Ref(PIECES, Key("team", "service")))
    assert known.affected(RELEASES, change).refs == (pieces if heard else ())
    if old is not None and new is not None:
        assert known.affected(APPLICATIONS, change).namespace == ("team" if heard else "")


def test_an_application_that_comes_or_goes_has_nobody_elses_pieces_looked_at() -> None:
    application = pack({"metadata": {"name": "shop", "namespace": "team", "annotations": {AUTHOR_ANNOTATION: "bob"}}})
    for change in (Change(Key("team", "shop"), None, application), Change(Key("team", "shop"), application, None)):
        assert not door(piece()).affected(APPLICATIONS, change).namespace


def test_an_installation_target_that_somebody_else_wrote_is_looked_at_again() -> None:
    before, after = installation(["east"]), installation(["east"])
    after["metadata"]["annotations"][AUTHOR_ANNOTATION] = "bob"
    change = Change(Key("team", RELEASE), pack(before), pack(after))
    assert door().affected(INSTALLATION_TARGETS, change).refs
