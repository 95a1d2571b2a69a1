"""Whom the change of a placeholder concerns."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.api.admiralty.keys import ANSWERS, ATTEMPT, PROXY_CONSTRAINTS, REASON, SHOWN, TARGET
from hanse.api.plain_kinds import JOBS
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj
from hanse.kube.packing import pack
from hanse.kube.resources import PODS
from hanse.pods.neighbourhood import Neighbourhood

SPREAD: Obj = {"topologySpreadConstraints": [{"topologyKey": "zone"}]}
SPREADS, PLAIN = Key("shop", "spreads"), Key("shop", "plain")


def _pod(key: Key, *, spec: Any = None, phase: str = "Pending", **annotations: str) -> Obj:
    if spec:
        annotations[PROXY_CONSTRAINTS] = "asked"
    metadata = {"name": key.name, "namespace": key.namespace, "uid": key.name, "annotations": annotations}
    return {"metadata": metadata, "spec": spec or {}, "status": {"phase": phase}}


def _neighbourhood(*pods: Obj) -> Neighbourhood:
    made = Neighbourhood("home")
    stored = {Key(pod["metadata"]["namespace"], pod["metadata"]["name"]): pod for pod in pods}
    made.inform({PODS: stored, JOBS: {}})
    return made


def _changed(neighbourhood: Neighbourhood, key: Key, pod: Obj | None) -> list[Key]:
    return neighbourhood.changed(Change(key, b"", None if pod is None else pack(pod)))


@pytest.mark.parametrize("name", [REASON, ATTEMPT, SHOWN, "example.com/result"])
def test_what_is_merely_written_down_on_a_placeholder_concerns_nobody(name: str) -> None:
    neighbourhood = _neighbourhood(_pod(SPREADS, spec=SPREAD), _pod(PLAIN))
    assert _changed(neighbourhood, PLAIN, _pod(PLAIN, **{name: "x"})) == []
    assert _changed(neighbourhood, PLAIN, _pod(PLAIN, phase="Running")) == []


@pytest.mark.parametrize(
    "after",
    [_pod(PLAIN, **{TARGET: "eu"}), _pod(PLAIN, **{ANSWERS: "{}"}), _pod(PLAIN, phase="Succeeded"), None],
    ids=["bound", "refused", "ended", "gone"],
)
def test_what_changes_where_a_pod_is_concerns_those_who_mind_company(after: Obj | None) -> None:
    neighbourhood = _neighbourhood(_pod(SPREADS, spec=SPREAD), _pod(PLAIN))
    assert _changed(neighbourhood, PLAIN, after) == [SPREADS]
    assert _changed(neighbourhood, PLAIN, after) == []


def test_in_another_namespace_it_concerns_nobody() -> None:
    far = Key("bank", "far")
    neighbourhood = _neighbourhood(_pod(SPREADS, spec=SPREAD), _pod(far))
    assert _changed(neighbourhood, far, None) == []


def test_while_nobody_minds_others_nobody_is_around() -> None:
    neighbourhood = _neighbourhood(_pod(PLAIN))
    assert neighbourhood.around(_pod(PLAIN)) == []
    assert _changed(neighbourhood, SPREADS, _pod(SPREADS, spec=SPREAD)) == []
    around = neighbourhood.around(_pod(SPREADS, spec=SPREAD))
    assert [each.pod["metadata"]["name"] for each in around] == ["plain", "spreads"]


def test_who_is_around_comes_in_order() -> None:
    keys = [Key("shop", name) for name in "dbca"]
    neighbourhood = _neighbourhood(*(_pod(key, spec=SPREAD) for key in keys))
    around = neighbourhood.around(_pod(keys[0], spec=SPREAD))
    assert [each.pod["metadata"]["name"] for each in around] == ["a", "b", "c", "d"]
