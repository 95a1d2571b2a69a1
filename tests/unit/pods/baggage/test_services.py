"""Global Services and Ingresses: what they select, where they go, what is copied, how they pass placeholders."""

import pytest

from hanse.api.admiralty.keys import CILIUM_GLOBAL, GLOBAL, IS_DELEGATE, NO_PREFIX, ORIGINAL_SELECTOR, PREFIX
from hanse.api.names import AUTHOR_ANNOTATION
from hanse.api.plain_kinds import INGRESSES
from hanse.kube.manifest import annotations_of, key_of
from hanse.kube.patches.merge_patch import apply_merge_patch
from hanse.kube.resources import PODS, SERVICES
from hanse.pods.baggage.elected import Elected
from hanse.pods.baggage.rerouting import ingress_patch, service_patch
from hanse.pods.baggage.selectors import original_selector, selector_from, selector_text
from hanse.pods.baggage.services import GlobalDoor, backends, service_spec
from hanse.propagation.intent import Intent, Problem, Ref
from tests.unit.pods.baggage.builders import change, placeholder, targets

M = PREFIX


def service(selector=None, name="web", annotations=None, **spec):
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "7",
        "annotations": annotations or {},
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": {"app": "web"} if selector is None else selector, **spec},
    }


def ingress(*names, name="front", rules=None):
    paths = [{"path": "/", "backend": {"service": {"name": each}}} for each in names]
    spec = {"rules": [{"host": "bare"}, {"host": "x", "http": {"paths": paths}}] if rules is None else rules}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": "shop", "uid": "u-2"},
        "spec": spec,
    }


def door(*objects, reach=None):
    kinds = {"Pod": PODS, "Service": SERVICES, "Ingress": INGRESSES}
    inputs = {kind: {} for kind in kinds.values()}
    for each in objects:
        inputs[kinds[each["kind"]]][key_of(each)] = each
    return GlobalDoor("home", reach or targets("east", "west")).informed(inputs)


@pytest.mark.parametrize(
    ("saved", "selector", "keep", "meant"),
    [
        (None, {"app": "web"}, None, {"app": "web"}),
        (None, {}, None, {}),
        ("app=web", {f"{M}app": "web"}, None, {"app": "web"}),
        ("foo.com/app=web", {f"{M}app": "web"}, None, {"foo.com/app": "web"}),
        # Applied again as it was, with another value, with a key more, with a key less.
        ("app=web", {f"{M}app": "web", "app": "web"}, None, {"app": "web"}),
        ("app=web", {f"{M}app": "web", "app": "api"}, None, {"app": "api"}),
        ("app=web", {f"{M}app": "web", "app": "web", "tier": "front"}, None, {"app": "web", "tier": "front"}),
        ("app=web,tier=front", {f"{M}app": "web", f"{M}tier": "front", "app": "web"}, None, {"app": "web"}),
        # Replaced as a whole.
        ("app=web", {"app": "api"}, None, {"app": "api"}),
        # Somebody spoiled it.
        ("app=web", {f"{M}app": "other"}, None, {"app": "web"}),
        # Keys that stay as they are do not make the rest be forgotten.
        ("a=d,x=1", {"a": "d", f"{M}x": "1"}, "^a=d$", {"a": "d", "x": "1"}),
        ("a=d,x=1", {"a": "e", f"{M}x": "1"}, "^a=", {"a": "e", "x": "1"}),
        ("a=d,x=1", {"a": "d", "x": "2", f"{M}x": "1"}, "^a=d$", {"a": "d", "x": "2"}),
        ("a=d,x=1", {"a": "d"}, "^a=d$", {"a": "d"}),
    ],
)
def test_the_selector_that_the_owner_means_is_known_however_it_was_written(saved, selector, keep, meant):
    annotations = {key: text for key, text in ((ORIGINAL_SELECTOR, saved), (NO_PREFIX, keep)) if text is not None}

    assert original_selector(service(selector, annotations=annotations)) == meant


@pytest.mark.parametrize("selector", [{"app": "web"}, {"foo.com/app": "web", "empty": ""}, {}])
def test_a_saved_selector_reads_as_it_was(selector):
    assert selector_from(selector_text(selector)) == selector


@pytest.mark.parametrize(
    ("selector", "keep"), [({"app": "web"}, None), ({"a": "d", "x": "1"}, "^a=d$"), ({"a": "d"}, "^a=d$")]
)
def test_a_service_is_led_once_and_given_back_as_it_was(selector, keep):
    before = service(selector, annotations={} if keep is None else {NO_PREFIX: keep})
    led = apply_merge_patch(before, service_patch(before, led=True))
    back = apply_merge_patch(led, service_patch(led, led=False))

    assert service_patch(led, led=True) is None
    assert annotations_of(led)[ORIGINAL_SELECTOR] == selector_text(selector)
    assert (back, service_patch(back, led=False)) == (before, None)


def test_what_the_owner_says_to_cilium_stays():
    before = service(annotations={CILIUM_GLOBAL: "false"})
    led = apply_merge_patch(before, service_patch(before, led=True))

    assert annotations_of(led)[CILIUM_GLOBAL] == "false"
    template = door(placeholder("one", app="web")).translate(before).template
    assert annotations_of(template)[CILIUM_GLOBAL] == "false"


def test_an_ingress_is_marked_once_and_unmarked_once():
    before = ingress("web")
    marked = apply_merge_patch(before, ingress_patch(before, led=True))

    assert annotations_of(marked) == {GLOBAL: "true"}
    assert (ingress_patch(marked, led=True), ingress_patch(before, led=False)) == (None, None)
    assert annotations_of(apply_merge_patch(marked, ingress_patch(marked, led=False))) == {}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({"app": "web"}, True),
        ({"app": "web", "tier": "front"}, True),
        ({"app": "api"}, False),
        ({"app": "web", "other": "x"}, False),
        ({}, False),
    ],
)
def test_only_a_selector_that_asks_for_something_selects_placeholders(selector, selected):
    elected = Elected([(key_of(pod := placeholder("one", app="web", tier="front")), pod)])

    assert elected.has("shop", selector) is selected
    assert not elected.has("other", selector)


def test_the_last_placeholder_of_its_labels_counts_and_an_ordinary_pod_never():
    elected, one, two = Elected(), placeholder("one", app="web"), placeholder("two", app="web")
    ordinary = {**placeholder("three", app="api"), "spec": {"schedulerName": "default-scheduler"}}

    assert [bool(elected.take_in(change(None, each))) for each in (one, two, one, ordinary)] == [
        True,
        True,
        False,
        False,
    ]
    elected.take_in(change(one, None))
    assert elected.has("shop", {"app": "web"})
    elected.take_in(change(two, None))
    assert not elected.has("shop", {"app": "web"})
    assert not elected.has("shop", {"app": "api"})


def test_those_speak_for_a_service_who_had_its_pods_made_each_once():
    pods = [placeholder(name, annotations={AUTHOR_ANNOTATION: who}, app="web") for name, who in ("1a", "2b", "3a")]
    voices = door(*pods).translate(service()).voices

    assert [annotations_of(each)[AUTHOR_ANNOTATION] for each in voices] == ["a", "b"]


@pytest.mark.parametrize(
    ("reach", "names", "unneeded"),
    [
        (targets("east", "west"), ("east", "west"), ""),
        (targets("east", "me", own=("me",)), ("east",), ""),
        (targets("shop/east", "other/west"), ("shop/east",), ""),
        (targets("me", own=("me",)), (), "its namespace has no target in another cluster"),
    ],
)
def test_a_service_goes_to_every_other_cluster_that_serves_its_namespace(reach, names, unneeded):
    intent = door(placeholder("one", app="web"), reach=reach).translate(service())

    assert (intent.placement.clusters.names, intent.unneeded) == (names, unneeded)


@pytest.mark.parametrize(
    ("source", "unneeded"),
    [
        (service(), ""),
        (service({"app": "api"}), "it selects no pod that runs elsewhere"),
        (service({}), "it selects no pod that runs elsewhere"),
        (ingress("web"), ""),
        (ingress("other", "web"), ""),
        (ingress("missing"), "it leads to no Service with pods that run elsewhere"),
        (ingress("copied"), "it leads to no Service with pods that run elsewhere"),
        (ingress(rules=[]), "it leads to no Service with pods that run elsewhere"),
    ],
)
def test_only_what_leads_to_pods_that_run_elsewhere_is_in_other_clusters(source, unneeded):
    others = [
        service(name="web"),
        service({"app": "x"}, name="other"),
        service(name="copied", annotations={IS_DELEGATE: ""}),
    ]

    intent = door(placeholder("one", app="web"), *others).translate(source)

    assert isinstance(intent, Intent)
    assert intent.unneeded == unneeded


def test_a_copy_is_followed_no_further():
    assert not door().admits(service(annotations={IS_DELEGATE: ""}))
    assert door().admits(service())


def test_a_pattern_that_is_none_is_told():
    told = door().translate(service(annotations={NO_PREFIX: "?!foo", ORIGINAL_SELECTOR: "app=web"}))

    assert isinstance(told, Problem)
    assert NO_PREFIX in told.message


@pytest.mark.parametrize(
    ("spec", "copied"),
    [
        ({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}, {}),
        ({"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "None"}),
        ({"ipFamilyPolicy": "SingleStack"}, {}),
        ({"ipFamilyPolicy": "PreferDualStack"}, {"ipFamilyPolicy": "PreferDualStack"}),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]},
            {"type": "NodePort", "ports": [{"port": 80}]},
        ),
        (
            {
                "type": "LoadBalancer",
                "healthCheckNodePort": 30081,
                "loadBalancerIP": "1.2.3.4",
                "externalIPs": ["1.2.3.5"],
            },
            {"type": "LoadBalancer"},
        ),
    ],
)
def test_what_a_cluster_allocates_for_a_service_every_other_allocates_itself(spec, copied):
    assert service_spec(service(**spec), {"app": "web"}) == {**copied, "selector": {"app": "web"}}


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ([], []),
        ([{"host": "bare"}, {"http": None}, {"http": {"paths": None}}], []),
        ([{"http": {"paths": [{"backend": {"resource": {"kind": "Bucket"}}}]}}], []),
        ([{"http": {"paths": [{"backend": {"service": {"name": each}}} for each in "aab"]}}], ["a", "b"]),
    ],
)
def test_the_services_of_an_ingress_are_found_in_whatever_rules_it_has(rules, names):
    assert backends(ingress(rules=rules)) == names
    with_default = ingress(rules=rules)
    with_default["spec"]["defaultBackend"] = {"service": {"name": "first"}}
    assert backends(with_default) == ["first", *names]


def test_a_placeholder_that_comes_or_goes_speaks_of_those_that_select_it_and_of_no_others():
    pod, web, api = placeholder("one", app="web"), service(), service({"app": "api"}, name="api")
    known = door(web, api, ingress("web"), ingress("api", name="back"))
    refs = (Ref(SERVICES, key_of(web)), Ref(INGRESSES, key_of(ingress("web"))))

    assert known.affected(PODS, change(None, pod)).refs == refs
    assert known.affected(PODS, change(pod, {**pod, "status": {"phase": "Running"}})).refs == ()
    assert known.affected(PODS, change(pod, None)).refs == refs


def test_a_service_that_changes_speaks_of_the_ingresses_that_lead_to_it():
    known = door(service(), ingress("web"), ingress("api", name="back"))

    assert known.affected(SERVICES, change(None, service())).refs == (Ref(INGRESSES, key_of(ingress("web"))),)
