"""Annotations of a running pod on its placeholder (line 38 of the checklist): what a target may say there."""

from __future__ import annotations

import pytest

from hanse.api.admiralty.keys import SHOWN
from hanse.kube.manifest import Obj, annotations_of
from hanse.pods.placeholder.annotations import Shown, annotations_shown
from hanse.pods.placeholder.template import chaperon_of

LIMIT = 256 * 1024


def _placeholder(**annotations: str) -> Obj:
    return {"metadata": {"name": "web-1", "namespace": "shop", "uid": "u1", "annotations": annotations}}


def _chaperon(found: object) -> Obj:
    return {"status": {"podAnnotations": found}}


def _then(placeholder: Obj, shown: Shown) -> Obj:
    kept = {**annotations_of(placeholder), **shown.patch}
    return _placeholder(**{name: text for name, text in kept.items() if text is not None})


def test_what_the_pod_got_in_its_cluster_comes_back_and_is_noted() -> None:
    shown = annotations_shown(_placeholder(mine="kept"), _chaperon({"k": "v", "example.com/Result": "42"}))
    assert shown == Shown({"k": "v", "example.com/Result": "42", SHOWN: "example.com/Result,k"})


def test_what_is_shown_already_is_not_written_again() -> None:
    chaperon = _chaperon({"k": "v"})
    once = _then(_placeholder(), annotations_shown(_placeholder(), chaperon))
    assert annotations_shown(once, chaperon).patch == {}


def test_what_the_placeholder_has_of_itself_stays() -> None:
    assert annotations_shown(_placeholder(mine="kept"), _chaperon({"mine": "another"})).patch == {}


def test_what_came_from_the_pod_changes_and_goes_with_it() -> None:
    before = _placeholder(mine="kept", k="v", gone="x", **{SHOWN: "gone,k"})
    assert annotations_shown(before, _chaperon({"k": "w"})).patch == {"k": "w", "gone": None, SHOWN: "k"}
    assert annotations_shown(before, _chaperon({})).patch == {"k": None, "gone": None, SHOWN: None}


@pytest.mark.parametrize(
    "name",
    [
        "kubectl.kubernetes.io/last-applied-configuration",
        "kubernetes.io/config.hash",
        "seccomp.security.alpha.kubernetes.io/pod",
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "Container.apparmor.security.beta.Kubernetes.io/main",
        "k8s.io/x",
        "admission.k8s.io/x",
        "multicluster.admiralty.io/sourcepod-manifest",
        "pods.hanse.dev/target",
        "pods.hanse.dev/shown",
        "hanse.dev/author",
        "not a name",
        "a/b/c",
        "",
    ],
)
def test_what_is_not_for_a_target_to_say_is_never_shown(name: str) -> None:
    assert annotations_shown(_placeholder(), _chaperon({name: "x"})) == Shown({})


@pytest.mark.parametrize("found", [None, "text", 7, ["k"], {"k": 7}, {"k": None}, {"k": {"a": "b"}}])
def test_what_is_no_annotation_is_none(found: object) -> None:
    assert annotations_shown(_placeholder(), _chaperon(found)) == Shown({})


def test_names_that_only_look_like_those_of_kubernetes_are_shown() -> None:
    assert annotations_shown(_placeholder(), _chaperon({"notkubernetes.io/x": "1"})).patch["notkubernetes.io/x"] == "1"


def test_only_as_much_is_shown_as_there_is_room_for() -> None:
    placeholder = _placeholder(mine="m" * 100_000)
    shown = annotations_shown(placeholder, _chaperon({"small": "s", "large": "l" * 120_000, "huge": "h" * 200_000}))
    assert shown.left_out == ("huge",)
    then = annotations_of(_then(placeholder, shown))
    assert then.keys() == {"mine", "small", "large", SHOWN}
    assert sum(len(name) + len(text) for name, text in then.items()) < LIMIT


def test_names_alone_cannot_fill_the_room() -> None:
    found = {f"example.com/{number:060}": "" for number in range(5000)}
    shown = annotations_shown(_placeholder(), _chaperon(found))
    assert len(shown.left_out) + len(shown.patch) - 1 == 5000
    assert sum(len(name) + len(text or "") for name, text in shown.patch.items()) < LIMIT


def test_what_came_from_the_pod_is_not_asked_of_it_in_return() -> None:
    placeholder = _placeholder(mine="kept", k="v", **{SHOWN: "k"})
    pod = {**placeholder, "spec": {"containers": []}}
    asked = annotations_of(chaperon_of("home", placeholder, pod))
    assert {name for name in asked if not name.startswith("multicluster")} == {"mine"}
