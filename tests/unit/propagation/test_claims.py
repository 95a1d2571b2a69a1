"""Several sources that want the same object in the members: one of them speaks for it."""

from __future__ import annotations

from hanse.kube.manifest import Key
from hanse.kube.resources import NAMESPACES, Resource
from hanse.propagation.claims import Claim, Claims
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


def test_nobody_speaks_for_what_nobody_wants() -> None:
    claims = staked(plain=Claim("n", "1"))
    claims.drop(PLAIN)
    assert claims.drop(PLAIN) is None
    assert claims.holder(TARGET) is None
    assert claims.of(TARGET) == []


def test_a_source_that_comes_to_mean_another_target_leaves_the_former() -> None:
    other = Ref(NAMESPACES, Key("", "stock"))
    claims = staked(wrapped=Claim("f", "1"))
    claims.stake(WRAPPED, other, Claim("f", "1"))
    assert claims.holder(TARGET) is None
    assert claims.holder(other) == WRAPPED
