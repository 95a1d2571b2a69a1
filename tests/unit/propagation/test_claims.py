"""Several sources that want the same object in the members: one of them speaks for it."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.api.names import FEDERATE_ANNOTATION, FINALIZER
from hanse.kube.manifest import Key
from hanse.kube.resources import NAMESPACES, Resource
from hanse.native import NativeDoor
from hanse.propagation.claims import Claim, Claims, claim_of
from hanse.propagation.door import Kin
from hanse.propagation.intent import Ref

FEDERATED = Resource("types.kubefed.io", "v1beta1", "federatednamespaces", "FederatedNamespace")
TARGET = Ref(NAMESPACES, Key("", "shop"))
PLAIN = Ref(NAMESPACES, Key("", "shop"))
WRAPPED = Ref(FEDERATED, Key("shop", "shop"))


def staked(**claims: Claim) -> Claims:
    result = Claims()
    for name, claim in claims.items():
        result.stake({"plain": PLAIN, "wrapped": WRAPPED}[name], TARGET, claim)
    return result


def test_the_oldest_source_speaks_for_a_target() -> None:
    claims = staked(wrapped=Claim("f", "2026-01-02T00:00:00Z"), plain=Claim("n", "2026-01-01T00:00:00Z"))
    assert claims.holder(TARGET) == PLAIN
    assert claims.rivals(PLAIN) == ("f",)


def test_one_that_supersedes_speaks_before_the_oldest() -> None:
    claims = staked(plain=Claim("n", "2026-01-01T00:00:00Z"), wrapped=Claim("f", "2026-01-02T00:00:00Z", True))
    assert claims.holder(TARGET) == WRAPPED
    assert claims.rivals(WRAPPED) == ("n",)


def test_of_equals_the_same_one_speaks_whatever_the_order_in_which_they_came() -> None:
    one = staked(plain=Claim("n", "t"), wrapped=Claim("f", "t"))
    other = staked(wrapped=Claim("f", "t"), plain=Claim("n", "t"))
    assert one.holder(TARGET) == other.holder(TARGET)


def test_the_next_one_speaks_when_the_holder_goes() -> None:
    claims = staked(plain=Claim("n", "1"), wrapped=Claim("f", "2", True))
    assert claims.drop(WRAPPED) == TARGET
    assert claims.holder(TARGET) == PLAIN
    assert claims.rivals(PLAIN) == ()


def test_a_living_source_speaks_before_one_that_is_going_and_takes_over_its_copies() -> None:
    claims = staked(plain=Claim("n", "1"), wrapped=Claim("f", "2", supersedes=True, going=True))
    assert claims.holder(TARGET) == PLAIN
    assert claims.rivals(PLAIN) == ("f",)


def test_of_several_that_are_going_one_speaks_until_it_has_gone() -> None:
    claims = staked(plain=Claim("n", "1", going=True), wrapped=Claim("f", "2", supersedes=True, going=True))
    assert claims.holder(TARGET) == WRAPPED


def test_it_is_told_whether_somebody_else_speaks_now() -> None:
    claims = Claims()
    assert claims.stake(PLAIN, TARGET, Claim("n", "1"))
    assert not claims.stake(PLAIN, TARGET, Claim("n", "1"))
    assert claims.stake(WRAPPED, TARGET, Claim("f", "2", supersedes=True))
    assert claims.stake(WRAPPED, TARGET, Claim("f", "2", supersedes=True, going=True))


def test_a_rival_whose_copies_nobody_knew_of_is_news_although_it_speaks_for_nothing() -> None:
    claims = staked(plain=Claim("n", "1"))
    assert claims.stake(WRAPPED, TARGET, Claim("f", "2"))
    assert claims.stake(WRAPPED, TARGET, Claim("made anew", "3"))
    assert not claims.stake(WRAPPED, TARGET, Claim("made anew", "3", going=True))
    assert claims.rivals(PLAIN) == ("made anew",)


def test_nobody_speaks_for_what_nobody_wants() -> None:
    claims = staked(plain=Claim("n", "1"))
    claims.drop(PLAIN)
    assert claims.drop(PLAIN) is None
    assert claims.holder(TARGET) is None
    assert claims.of(TARGET) == []


def test_copies_are_left_to_a_living_source_and_to_none_that_rests() -> None:
    going = Claim("n", "1", going=True)
    assert staked(plain=going, wrapped=Claim("f", "2")).heir(PLAIN, TARGET) == WRAPPED
    assert staked(plain=going, wrapped=Claim("f", "2", resting=True)).heir(PLAIN, TARGET) is None
    assert staked(plain=going).heir(PLAIN, TARGET) is None
    assert staked().heir(PLAIN, TARGET) is None


def test_a_source_that_rests_keeps_what_it_speaks_for() -> None:
    claims = staked(plain=Claim("n", "1", resting=True), wrapped=Claim("f", "2"))
    assert claims.holder(TARGET) == PLAIN


def test_it_is_known_what_a_source_has_to_do_with() -> None:
    claims = staked(wrapped=Claim("f", "1"))
    assert claims.target(WRAPPED) == TARGET
    assert claims.target(PLAIN) is None


OWNED = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": True}]


@pytest.mark.parametrize(
    ("metadata", "claim"),
    [
        ({}, Claim("u", "t")),
        ({"deletionTimestamp": "later"}, Claim("u", "t", going=True)),
        ({"annotations": {FEDERATE_ANNOTATION: "false"}}, None),
        ({"annotations": {FEDERATE_ANNOTATION: "false"}, "finalizers": [FINALIZER]}, Claim("u", "t", going=True)),
        ({"ownerReferences": OWNED}, None),
        ({"ownerReferences": OWNED, "finalizers": [FINALIZER]}, Claim("u", "t", resting=True)),
        (
            {"ownerReferences": OWNED, "finalizers": [FINALIZER], "deletionTimestamp": "later"},
            Claim("u", "t", going=True),
        ),
    ],
)
def test_a_source_claims_what_it_shall_have_or_may_still_have(metadata: dict[str, Any], claim: Claim | None) -> None:
    own = {"name": "web", "namespace": "shop", "uid": "u", "creationTimestamp": "t"}
    source = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": own | metadata, "spec": {}}
    assert claim_of(NativeDoor(), source) == claim


@pytest.mark.parametrize(
    ("plain", "wrapped", "speaks"),
    [
        (Claim("n", "1", kin=Kin("shop", 0)), Claim("f", "2", kin=Kin("shop", 1)), WRAPPED),
        (Claim("n", "1", kin=Kin("shop", 0)), Claim("f", "2", kin=Kin("shop", 1), going=True), PLAIN),
        (Claim("n", "1", kin=Kin("shop", 0)), Claim("f", "2", kin=Kin("shop", -1)), PLAIN),
        (Claim("n", "1", kin=Kin("shop", 0)), Claim("f", "2", kin=Kin("bank", 9)), PLAIN),
        (Claim("n", "1"), Claim("f", "2", kin=Kin("shop", 9)), PLAIN),
    ],
    ids=[
        "the newer release",
        "not one that goes",
        "not one that is not complete",
        "not a stranger's",
        "nor before all",
    ],
)
def test_within_a_family_the_highest_rank_speaks_and_a_stranger_keeps_what_it_has(plain, wrapped, speaks) -> None:
    assert staked(plain=plain, wrapped=wrapped).holder(TARGET) == speaks
