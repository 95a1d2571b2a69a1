"""Whether clusters can stand behind one load balancer."""

import pytest

from hanse.services.ingress.manifest import Backend
from hanse.services.ingress.surveying import (
    NodePort,
    Survey,
    health_path,
    is_supported,
    port_of,
    probe_path,
    protocol_of,
    survey_problems,
)

WEB, API = Backend("web", "80"), Backend("api", "http")


def surveyed(version="v1.30.0", **ports):
    return Survey(version, {{"web": WEB, "api": API}[name]: port for name, port in ports.items()})


def problems(surveys, default=WEB):
    return survey_problems(surveys, [WEB, API], default, "shop")


@pytest.mark.parametrize(
    ("version", "supported"),
    [
        ("v1.8.0", False),
        ("v1.8.1", True),
        ("v1.9.3-gke.0", True),
        ("v1.10.0", False),
        ("v1.10.1", True),
        ("v1.36.1", True),
        ("v2.0.0", True),
        ("v0.21.0", False),
        ("unknown", False),
    ],
)
def test_only_some_versions_can_be_behind_a_load_balancer_of_many_clusters(version, supported):
    assert is_supported(version) is supported


def test_clusters_with_the_same_node_ports_have_no_problem():
    same = {name: surveyed(web=NodePort(30061), api=NodePort(30070)) for name in "ab"}

    assert problems(same) == []


def test_a_default_backend_on_two_node_ports_is_a_problem_that_names_both():
    """Line 106 of docs/reference/federation-v1.md."""
    found = problems(
        {
            "a": surveyed(web=NodePort(30061), api=NodePort(30070)),
            "b": surveyed(web=NodePort(30062), api=NodePort(30070)),
        }
    )

    assert len(found) == 1
    assert "default backend service 'shop/web'" in found[0]
    assert "(e.g. in 'a') are on NodePort 30061, but 'b' is on 30062" in found[0]


def test_a_path_on_two_node_ports_is_a_problem_too():
    """The original found it out and threw it away."""
    found = problems(
        {
            "a": surveyed(web=NodePort(30061), api=NodePort(30070)),
            "b": surveyed(web=NodePort(30061), api=NodePort(30071)),
        }
    )

    assert len(found) == 1
    assert "for service 'shop/api'" in found[0]


def test_an_old_cluster_a_missing_service_and_a_missing_default_are_all_told_at_once():
    found = problems({"a": surveyed("v1.10.0", web="there is no Service shop/web", api=NodePort(1))}, default=None)

    assert [each.split(" ")[0] for each in found] == ["cluster", "unexpected:", "nodePort"]
    assert "could not get service NodePort in cluster 'a': there is no Service shop/web" in found[2]


@pytest.mark.parametrize(
    ("paths", "path", "differ"),
    [
        (("", ""), "/", False),
        (("", "/ready"), "/ready", False),
        (("ready", "ready"), "/ready", False),
        (("/a", "/b"), "/a", True),
    ],
)
def test_health_checks_ask_for_what_the_pods_own_probes_ask_for(paths, path, differ):
    surveys = {name: surveyed(web=NodePort(1, path=each)) for name, each in zip("ab", paths, strict=True)}

    found, problem = health_path(surveys, WEB)

    assert found == path
    assert bool(problem) is differ


def test_a_port_is_found_by_number_and_by_name_and_says_what_is_spoken_on_it():
    service = {
        "metadata": {"annotations": {"cloud.google.com/app-protocols": '{"web": "HTTPS"}'}},
        "spec": {"ports": [{"name": "web", "port": 443}, {"name": "plain", "port": 80}]},
    }

    assert port_of(service, "443") == port_of(service, "web") == {"name": "web", "port": 443}
    assert port_of(service, "8080") is None
    assert [protocol_of(service, port) for port in service["spec"]["ports"]] == ["HTTPS", "HTTP"]
    service["metadata"]["annotations"]["cloud.google.com/app-protocols"] = "{"
    assert protocol_of(service, {"name": "web"}) == "HTTP"


@pytest.mark.parametrize(
    ("asked", "target", "path"),
    [(8080, 8080, "/ready"), ("http", 8080, "/ready"), (9090, 8080, ""), ("http", "http", "/ready")],
)
def test_a_readiness_probe_counts_where_it_asks_the_port_of_the_service(asked, target, path):
    probe = {"httpGet": {"path": "/ready", "port": asked}}
    pod = {"spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080}], "readinessProbe": probe}]}}

    assert probe_path(pod, {"port": 80, "targetPort": target}) == path
