"""Events of many clusters as one story."""

from hanse.cli.chronicle import concerning, story
from hanse.kube.manifest import Key


def event(name, kind="Pod", reason="Started", namespace="shop", **fields):
    about = {"kind": kind, "name": name, "namespace": namespace}
    metadata = {"name": f"{name}.1", "uid": name}
    return {"metadata": metadata, "involvedObject": about, "reason": reason, "type": "Normal", "message": "x", **fields}


AT = "2026-01-01T00:00:{:02}Z".format


def test_events_of_all_clusters_are_told_in_the_order_of_time():
    told = story(
        {
            "(federation)": [event("web", "Deployment", lastTimestamp=AT(3))],
            "a": [event("p1", lastTimestamp=AT(4)), event("p2", eventTime="2026-01-01T00:00:01.500000Z")],
            "b": [event("p3", firstTimestamp=AT(1), series={"count": 7, "lastObservedTime": AT(2)})],
        }
    )

    assert [(each.cluster, each.about) for each in told] == [
        ("a", "pod/p2"),
        ("b", "pod/p3"),
        ("(federation)", "deployment/web"),
        ("a", "pod/p1"),
    ]
    assert told[1].count == 7


def test_an_event_without_a_time_or_of_the_newer_form_is_told_too():
    told = story(
        {"a": [{"regarding": {"kind": "Pod", "name": "p"}, "note": "two\n lines", "metadata": {}, "type": "Warning"}]}
    )

    assert (told[0].when, told[0].message, told[0].warning) == (0.0, "two lines", True)


def test_what_concerns_an_object_is_about_it_its_copies_or_their_pods_in_that_cluster():
    told = story(
        {
            "(federation)": [event("web", "Deployment"), event("web", "Service")],
            "a": [event("web-1-x"), event("db-0"), event("web", "Deployment", namespace="other")],
            "b": [event("web-1-x")],
        }
    )

    kept = concerning(told, {("Deployment", Key("shop", "web"))}, {"a": {"Pod/web-1-x"}, "b": set()})

    assert [(each.cluster, each.about) for each in kept] == [("(federation)", "deployment/web"), ("a", "pod/web-1-x")]
