"""Google's load balancer as a plan: which resources, in which order, leading to which."""

import orjson

from hanse.services.ingress.balancer import Standing
from hanse.services.ingress.gce.pieces import (
    Certificate,
    Design,
    Ground,
    Served,
    allows_http,
    describe,
    health_checks,
    read_description,
    remaining_pieces,
    wants_https,
)
from hanse.services.ingress.gce.steps import (
    Change,
    Create,
    Keep,
    belongs,
    matches,
    removals,
    step_for,
    step_problems,
    without_clusters,
    without_groups,
    without_tags,
)
from hanse.services.ingress.manifest import Backend
from hanse.services.ingress.surveying import NodePort

WEB, API = Backend("zoneprinter", "80"), Backend("api", "80")
ZONE = "https://www.googleapis.com/compute/v1/projects/p/zones/us-east4-a"
GROUND = Ground(
    "203.0.113.7",
    {"west": [f"{ZONE}/instanceGroups/w"], "east": [f"{ZONE}/instanceGroups/e"]},
    {30061: "port30061", 30070: "port30070"},
    "networks/default",
    ("gke-west", "gke-east"),
)


def backend(name):
    return {"service": {"name": name, "port": {"number": 80}}}


ONE_PORT = (Served(WEB, NodePort(30061)),)


def design(rules=(), served=ONE_PORT, **spec):
    ingress = {
        "metadata": {"name": "zoneprinter", "namespace": "default"},
        "spec": {"defaultBackend": backend("zoneprinter"), "rules": list(rules), **spec},
    }
    return Design("zone-printer", "p", ingress, served)


def plan(made, certificate=None, ground=GROUND):
    return [*health_checks(made), *remaining_pieces(made, ground, certificate)]


def named(made, certificate=None):
    return [piece.name for piece in plan(made, certificate)]


def body(pieces, kind):
    return next(piece.body for piece in pieces if piece.name.startswith(f"mci1-{kind}-"))


def test_the_pieces_are_made_in_the_order_in_which_they_lead_to_each_other():
    """Line 105 of docs/reference/federation-v1.md, and last the firewall rule."""
    assert named(design()) == [
        "mci1-hc-30061--zone-printer",
        "mci1-be-30061--zone-printer",
        "mci1-um--zone-printer",
        "mci1-tp--zone-printer",
        "mci1-fw--zone-printer",
        "mci1-fr--zone-printer",
    ]


def test_an_encrypted_entrance_has_a_certificate_a_proxy_and_a_rule_of_its_own():
    own, given = Certificate(certificate="PEM", key="KEY"), Certificate(link="https://x/projects/p/c")

    assert named(design(), own)[3:] == [
        "mci1-tp--zone-printer",
        "mci1-fw--zone-printer",
        "mci1-ssl--zone-printer",
        "mci1-tps--zone-printer",
        "mci1-fws--zone-printer",
        "mci1-fr--zone-printer",
    ]
    assert "mci1-ssl--zone-printer" not in named(design(), given)
    assert body(plan(design(), given), "tps")["sslCertificates"] == ["https://x/projects/p/c"]
    assert body(plan(design(), own), "fws")["portRange"] == "443-443"


def test_the_values_are_those_of_the_sheet():
    pieces = plan(design())
    check, service, rule, firewall = (body(pieces, kind) for kind in ("hc", "be", "fw", "fr"))

    assert (check["checkIntervalSec"], check["timeoutSec"], check["healthyThreshold"]) == (60, 60, 1)
    assert check["unhealthyThreshold"] == 10
    assert check["httpHealthCheck"] == {"port": 30061, "requestPath": "/", "proxyHeader": "NONE"}
    assert service["backends"] == [
        {
            "group": f"{ZONE}/instanceGroups/{name}",
            "balancingMode": "RATE",
            "maxRatePerInstance": 1e14,
            "capacityScaler": 1,
        }
        for name in "ew"
    ]
    assert (service["timeoutSec"], service["sessionAffinity"], service["portName"]) == (30, "NONE", "port30061")
    assert (rule["portRange"], rule["IPAddress"]) == ("80-80", "203.0.113.7")
    assert firewall["sourceRanges"] == ["130.211.0.0/22", "35.191.0.0/16"]
    assert firewall["allowed"] == [{"IPProtocol": "tcp", "ports": ["30061"]}]
    assert firewall["targetTags"] == ["gke-east", "gke-west"]


def test_rules_become_host_rules_and_paths_that_lead_to_the_services_of_their_ports():
    rules = [{"host": "a.example.com", "http": {"paths": [{"path": "/api/*", "backend": backend("api")}]}}]
    served = (Served(WEB, NodePort(30061)), Served(API, NodePort(30070)))
    url_map = body(plan(design(rules, served)), "um")

    (matcher,) = url_map["pathMatchers"]
    assert url_map["hostRules"] == [{"hosts": ["a.example.com"], "pathMatcher": matcher["name"]}]
    assert url_map["defaultService"].endswith("global/backendServices/mci1-be-30061--zone-printer")
    assert [(each["paths"], each["service"].rpartition("/")[2]) for each in matcher["pathRules"]] == [
        (["/api/*"], "mci1-be-30070--zone-printer")
    ]


def test_services_on_one_node_port_share_their_pieces():
    served = (Served(WEB, NodePort(30061)), Served(API, NodePort(30061)))

    assert named(design(served=served)) == named(design())


def test_state_is_kept_in_the_description_of_the_url_map():
    url_map = body(plan(design()), "um")

    assert orjson.loads(url_map["description"]) == {
        "Description": "URL map for kubernetes multicluster loadbalancer zone-printer",
        "LoadBalancerName": "zone-printer",
        "Clusters": ["east", "west"],
        "IPAddress": "203.0.113.7",
    }
    standing = read_description(url_map["description"])
    assert standing == Standing("zone-printer", "203.0.113.7", ("east", "west"))
    assert standing.sentence == (
        "Load balancer zone-printer has IPAddress 203.0.113.7 and is spread across 2 clusters (east,west)"
    )
    assert read_description("somebody's own map") is None
    assert read_description("[]") is None


def test_an_ingress_says_whether_it_is_reached_with_or_without_encryption():
    def said(tls=(), **annotations):
        given = {"metadata": {"annotations": annotations}, "spec": {"tls": list(tls)}}
        return allows_http(given), wants_https(given)

    assert said() == (True, False)
    assert said(**{"kubernetes.io/ingress.allow-http": "false"}, tls=[{"secretName": "key"}]) == (False, True)
    assert said(**{"ingress.gcp.kubernetes.io/pre-shared-cert": "mine"}) == (True, True)


def test_what_is_there_and_matches_is_kept_whatever_the_api_adds_and_however_it_spells_links():
    (piece, *_) = remaining_pieces(design(), GROUND, None)
    spelt = {
        **piece.body,
        "healthChecks": [
            each.replace("www.googleapis.com", "compute.googleapis.com") for each in piece.body["healthChecks"]
        ],
    }

    assert step_for(piece, None) == Create(piece)
    assert step_for(piece, {**spelt, "id": "1", "selfLink": "x", "fingerprint": "f"}) == Keep(piece)
    differing = {**piece.body, "timeoutSec": 31}
    assert step_for(piece, differing) == Change(piece, differing)


def test_a_host_rule_that_is_there_and_not_wanted_is_a_difference():
    assert matches({"hostRules": []}, {})
    assert not matches({"hostRules": []}, {"hostRules": [{"hosts": ["a"]}]})
    assert matches({"certificate": "PEM", "privateKey": "KEY"}, {"certificate": "PEM"})


def test_what_differs_is_overwritten_only_by_force_and_never_where_it_is_somebody_elses():
    """Line 107 of docs/reference/federation-v1.md."""
    piece = next(each for each in plan(design()) if each.collection == "urlMaps")
    mine = Change(piece, {**piece.body, "defaultService": "other"})
    theirs = Change(piece, {**piece.body, "description": describe(Standing("other", "", ()))})

    assert step_problems([mine], "zone-printer", force=False) == [
        "will not overwrite url map mci1-um--zone-printer without --force"
    ]
    assert step_problems([mine], "zone-printer", force=True) == []
    assert "belongs to somebody else" in step_problems([theirs], "zone-printer", force=True)[0]


def test_a_certificate_in_use_is_not_replaced_and_the_sentence_says_what_to_do():
    piece = next(each for each in plan(design(), Certificate("", "PEM", "KEY")) if each.collection == "sslCertificates")

    (problem,) = step_problems([Change(piece, {**piece.body, "certificate": "OLD"})], "zone-printer", force=True)
    assert "pre-shared-cert" in problem


def test_pieces_belong_to_the_load_balancer_that_their_description_names():
    assert belongs({"description": "Firewall rule for kubernetes multicluster loadbalancer web"}, "web")
    assert not belongs({"description": "Firewall rule for kubernetes multicluster loadbalancer my-web"}, "web")
    assert not belongs({"description": "Firewall rule for kubernetes multicluster loadbalancer web"}, "my-web")
    assert not belongs({}, "web")


def test_a_load_balancer_is_removed_from_its_entrance_inwards_with_every_port_that_it_ever_had():
    listed = {
        "backendServices": ["mci1-be-30061--web", "mci1-be-30061--other", "mci1-be-30070--web"],
        "healthChecks": ["mci1-hc-30061--web", "k8s-hc-1"],
    }

    assert [step.name for step in removals("web", listed)] == [
        "mci1-fr--web",
        "mci1-fw--web",
        "mci1-fws--web",
        "mci1-tp--web",
        "mci1-tps--web",
        "mci1-ssl--web",
        "mci1-um--web",
        "mci1-be-30061--web",
        "mci1-be-30070--web",
        "mci1-hc-30061--web",
    ]


def test_clusters_leave_backend_services_firewall_and_state_and_nothing_else_does():
    service = {"name": "be", "backends": [{"group": f"{ZONE}/instanceGroups/{name}"} for name in "ew"]}
    elsewhere = f"{ZONE}/instanceGroups/w".replace("www.googleapis.com/compute", "compute.googleapis.com/compute")

    assert without_groups(service, [elsewhere])["backends"] == [{"group": f"{ZONE}/instanceGroups/e"}]
    assert without_tags({"targetTags": ["a", "b"]}, ["b"]) == {"targetTags": ["a"]}
    url_map = {"description": describe(Standing("web", "ip", ("east", "west")))}
    assert read_description(without_clusters(url_map, ["west"])["description"]) == Standing("web", "ip", ("east",))


def test_a_firewall_rule_that_would_open_the_whole_network_goes_instead():
    assert without_tags({"targetTags": ["a"]}, ["a"]) is None
