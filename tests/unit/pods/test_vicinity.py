"""Who has to do with whom among the placeholders of a source, found without looking at all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.api.admiralty.keys import GANG, PROXY_CONSTRAINTS, TARGET
from hanse.kube.manifest import Key, Obj
from hanse.pods.surroundings import is_concerned
from hanse.pods.vicinity import Vicinity, minds, minds_company

NEAR = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"namespaces": "x"}}}
SPREAD = {"topologySpreadConstraints": [NEAR]}


def _apart(**term: object) -> Obj:
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**NEAR, **term}]}}}


def _liking(**term: object) -> Obj:
    preferred = [{"weight": 1, "podAffinityTerm": {**NEAR, **term}}]
    return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}


def _pod(owner: str = "", spec: Any = None, **annotations: str) -> Obj:
    if spec:
        annotations[PROXY_CONSTRAINTS] = "asked"
    references = [{"uid": owner, "controller": True, "kind": "Job", "name": owner}] if owner else []
    return {"metadata": {"annotations": annotations, "ownerReferences": references}, "spec": spec or {}}


def _vicinity(**pods: Obj) -> Vicinity:
    """The key `shop__a` is pod a of namespace shop."""
    vicinity = Vicinity()
    for name, pod in pods.items():
        vicinity.put(_key(name), pod)
    return vicinity


def _key(name: str) -> Key:
    return Key(*name.split("__"))


def _around(vicinity: Vicinity, name: str) -> set[str]:
    placeholder = vicinity.get(_key(name))
    assert placeholder is not None
    return {"__".join(key) for key in vicinity.around(_key(name), placeholder)}


def _concerned(vicinity: Vicinity, name: str) -> set[str]:
    placeholder = vicinity.get(_key(name))
    assert placeholder is not None
    return {"__".join(key) for key in vicinity.concerned_by(_key(name), placeholder)}


def test_a_gang_is_found_by_its_controller_alone() -> None:
    gang = {GANG: "2"}
    vicinity = _vicinity(
        shop__a=_pod("j", **gang), shop__b=_pod("j", **gang), shop__c=_pod("k", **gang), shop__d=_pod("j")
    )
    assert _around(vicinity, "shop__a") == {"shop__a", "shop__b"}
    assert _concerned(vicinity, "shop__a") == {"shop__b"}
    assert _concerned(vicinity, "shop__c") == set()


def test_company_is_that_of_the_same_namespace() -> None:
    vicinity = _vicinity(shop__a=_pod(spec=SPREAD), shop__b=_pod(), bank__c=_pod(), bank__d=_pod(spec=_apart()))
    assert _around(vicinity, "shop__a") == {"shop__a", "shop__b"}
    assert _around(vicinity, "bank__c") == {"bank__c", "bank__d"}
    assert _concerned(vicinity, "shop__b") == {"shop__a"}
    assert _concerned(vicinity, "bank__d") == {"bank__c"}


def test_terms_that_name_namespaces_reach_beyond_their_own() -> None:
    for spec in (_apart(namespaces=["bank"]), _apart(namespaceSelector={}), _liking(namespaces=["bank"])):
        vicinity = _vicinity(shop__a=_pod(spec=spec), bank__c=_pod())
        assert _around(vicinity, "shop__a") == {"shop__a", "bank__c"}
        assert _around(vicinity, "bank__c") == {"shop__a", "bank__c"}
        assert _concerned(vicinity, "bank__c") == {"shop__a"}


def test_a_label_that_is_called_namespaces_reaches_nowhere() -> None:
    assert _around(_vicinity(shop__a=_pod(spec=_apart()), bank__c=_pod()), "shop__a") == {"shop__a"}


def test_one_that_keeps_others_away_concerns_those_that_still_look() -> None:
    vicinity = _vicinity(shop__a=_pod(spec=_apart()), shop__b=_pod(), shop__c=_pod(**{TARGET: "eu"}))
    assert _concerned(vicinity, "shop__a") == {"shop__b"}


def test_what_is_gone_or_changed_is_found_no_more() -> None:
    vicinity = _vicinity(shop__a=_pod(spec=_apart(namespaces=["bank"])), bank__c=_pod("j", **{GANG: "2"}))
    vicinity.put(_key("shop__a"), _pod())
    assert _around(vicinity, "bank__c") == {"bank__c"}
    vicinity.put(_key("bank__c"), None)
    assert vicinity.get(_key("bank__c")) is None
    assert _around(vicinity, "shop__a") == {"shop__a"}


specs = st.sampled_from([None, SPREAD, _apart(), _apart(namespaces=["bank"]), _liking(namespaceSelector={})])
pods = st.builds(
    lambda owner, spec, gang, bound: _pod(
        owner, spec, **({GANG: "2"} if gang else {}), **({TARGET: "eu"} if bound else {})
    ),
    st.sampled_from(["", "j", "k"]),
    specs,
    st.booleans(),
    st.booleans(),
)
keys = st.builds(Key, st.sampled_from(["shop", "bank"]), st.sampled_from("abc"))
few = settings() if settings().max_examples > 100 else settings(max_examples=40)


@given(st.lists(st.tuples(keys, st.none() | pods), max_size=12), keys, pods)
@few
def test_nobody_is_missed_that_a_look_at_everybody_would_find(
    steps: list[tuple[Key, Obj | None]], key: Key, placeholder: Obj
) -> None:
    vicinity, known = Vicinity(), dict[Key, Obj]()
    for each, pod in [*steps, (key, placeholder)]:
        vicinity.put(each, pod)
        known.pop(each, None)
        if pod is not None:
            known[each] = pod
    concerned = set(vicinity.concerned_by(key, placeholder))
    for each, pod in known.items():
        if each == key or not is_concerned(pod, placeholder) or not (minds(pod) or minds(placeholder)):
            continue
        said = f"{pod['spec']} {placeholder['spec']}"
        reaches = each.namespace == key.namespace or "'namespaces': [" in said or "namespaceSelector" in said
        kin = pod["metadata"]["ownerReferences"] == placeholder["metadata"]["ownerReferences"] != []
        assert each in concerned or not (reaches or (kin and GANG in pod["metadata"]["annotations"]))
    assert all(each in known for each in vicinity.around(key, placeholder))
    if minds_company(placeholder):
        assert {each for each in known if each.namespace == key.namespace} <= vicinity.around(key, placeholder)
