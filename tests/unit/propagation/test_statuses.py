"""Every kind's status has the shape that kubectl knows; numbers are the lines of the fact sheet of federation v1."""

import pytest

from hanse.api.federated_kinds import TaughtField
from hanse.kube.conditions import find_condition
from hanse.placement.decision import Decision, Verdict
from hanse.propagation.report import Report, Row
from hanse.propagation.statuses.addresses import ingress_status
from hanse.propagation.statuses.autoscalers import autoscaler_status
from hanse.propagation.statuses.claims import budget_status, claim_status
from hanse.propagation.statuses.custom import taught_status
from hanse.propagation.statuses.deployments import deployment_status
from hanse.propagation.statuses.jobs import cron_job_status, job_status
from hanse.propagation.statuses.replicas import daemon_set_status, replica_status, stateful_set_status

EARLY, NOON, LATE, NOW = (f"2026-01-01T{hour:02}:00:00Z" for hour in (1, 12, 20, 23))


def report(lost="", **statuses):
    """A report of members that have what they shall have, with these statuses."""
    verdicts = tuple(Verdict(name, name not in lost, None, ("it is ready",)) for name in statuses)
    rows = tuple(
        Row(name, {"metadata": {}}, {"metadata": {}, "status": status}, live=name not in lost)
        for name, status in statuses.items()
    )
    return Report(Decision(verdicts), rows)


def source(generation=3, spec=None, **status):
    return {"metadata": {"name": "x", "generation": generation}, "spec": spec or {}, "status": status}


def job(*conditions, **status):
    return {"conditions": [{"type": kind, "status": "True", "reason": f"Why{kind}"} for kind in conditions], **status}


def true_conditions(status):
    return [entry["type"] for entry in status["conditions"] if entry["status"] == "True"]


def test_replicas_are_sums_over_clusters_that_answer():
    """Line 42."""
    counts = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 1, "fullyLabeledReplicas": 2}

    status = replica_status(source(), report(a=counts, b=counts, c=counts, lost="c"), NOW)

    assert {name: value for name, value in status.items() if name != "conditions"} == {
        "replicas": 4, "readyReplicas": 4, "availableReplicas": 2, "fullyLabeledReplicas": 4, "observedGeneration": 3,
    }  # fmt: skip
    assert find_condition(status["conditions"], "Propagated")["status"] == "True"


def test_a_stateful_set_is_rolled_out_when_it_is_everywhere():
    new, old = {"updateRevision": "x-2", "currentRevision": "x-2"}, {"updateRevision": "x-2", "currentRevision": "x-1"}

    rolling, done = (stateful_set_status(source(), report(a=new, b=other), NOW) for other in (old, new))

    assert (rolling["currentRevision"], rolling["updateRevision"]) == ("x-1", "x-2")
    assert (done["currentRevision"], done["updateRevision"]) == ("x-2", "x-2")


def test_a_daemon_set_counts_the_nodes_of_all_clusters():
    status = daemon_set_status(source(), report(a={"desiredNumberScheduled": 3, "numberReady": 3, "numberAvailable": 2},
                                                b={"desiredNumberScheduled": 1, "numberReady": 0}), NOW)  # fmt: skip

    assert (status["desiredNumberScheduled"], status["numberReady"], status["numberAvailable"]) == (4, 3, 2)
    assert (status["currentNumberScheduled"], status["numberMisscheduled"]) == (0, 0)


class TestJobs:
    def test_counts_are_sums_it_starts_first_and_ends_last(self):
        """Lines 50 and 51."""
        done = report(
            a=job("Complete", succeeded=3, startTime=EARLY, completionTime=LATE),
            b=job("Complete", succeeded=4, startTime=NOON, completionTime=NOON),
        )

        status = job_status(source(), done, NOW)

        assert (status["succeeded"], status["startTime"], status["completionTime"]) == (7, EARLY, LATE)
        assert true_conditions(status) == ["SuccessCriteriaMet", "Complete", "Propagated"]

    @pytest.mark.parametrize(
        "other",
        [job(active=1, startTime=NOON), job("Failed", startTime=NOON)],
        ids=["runs on", "failed"],
    )
    def test_it_is_not_complete_when_one_part_is(self, other):
        """Line 51."""
        some = report(a=job("Complete", succeeded=3, startTime=EARLY, completionTime=LATE), b=other)

        status = job_status(source(), some, NOW)

        assert find_condition(status["conditions"], "Complete") is None
        assert "completionTime" not in status

    def test_one_failed_part_fails_it(self):
        """Line 49."""
        ended = report(
            a=job("Complete", startTime=EARLY, completionTime=LATE), b=job("Failed", startTime=NOON, failed=1)
        )

        status = job_status(source(), ended, NOW)

        assert true_conditions(status) == ["FailureTarget", "Failed", "Propagated"]
        assert find_condition(status["conditions"], "Failed")["reason"] == "WhyFailed"

    def test_while_a_part_runs_on_a_failure_is_only_announced(self):
        status = job_status(source(), report(a=job("Failed", startTime=EARLY), b=job(active=2, startTime=NOON)), NOW)

        assert true_conditions(status) == ["FailureTarget", "Propagated"]

    def test_a_lost_cluster_takes_back_nothing_and_completes_nothing(self):
        done = job("Complete", succeeded=3, startTime=EARLY, completionTime=LATE)

        begun = source(spec={"completions": 10}, succeeded=7, startTime=EARLY)

        status = job_status(begun, report(a=done, b=done, lost="b"), NOW)

        assert status["succeeded"] == 7
        assert find_condition(status["conditions"], "Complete") is None

    def test_what_has_ended_stays_as_it_is(self):
        ended = source(**job("Complete", succeeded=7))

        assert job_status(ended, report(a=job(active=1)), NOW) == ended["status"]


def test_a_cron_job_shows_what_runs_anywhere_and_the_latest_times():
    status = cron_job_status(
        source(lastScheduleTime=NOON),
        report(a={"active": [{"name": "x-1"}], "lastScheduleTime": EARLY}, b={"lastSuccessfulTime": LATE}),
        NOW,
    )

    assert status == {"active": [{"name": "x-1"}], "lastScheduleTime": NOON, "lastSuccessfulTime": LATE}


def test_an_autoscalers_usage_is_weighed_by_replicas():
    """The status of §3.7: sums, and CPU over members that tell it."""
    cpu = {"type": "Resource", "resource": {"name": "cpu"}}

    def member(replicas, percent, limited="False"):
        usage = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percent}}}
        told = {"type": "ScalingLimited", "status": limited, "reason": "TooManyReplicas", "message": "at its limit"}
        return {
            "currentReplicas": replicas,
            "desiredReplicas": replicas,
            "currentMetrics": [usage],
            "conditions": [told],
        }

    status = autoscaler_status(
        source(spec={"metrics": [cpu]}), report(a=member(1, 90), b=member(3, 30, "True"), c={"currentReplicas": 2}), NOW
    )

    assert (status["currentReplicas"], status["desiredReplicas"]) == (6, 4)
    assert status["currentMetrics"][0]["resource"]["current"] == {"averageUtilization": 45}
    assert find_condition(status["conditions"], "ScalingLimited")["message"] == "b: at its limit"


def test_an_ingress_has_the_addresses_of_all_clusters_once():
    def at(*addresses):
        return {"loadBalancer": {"ingress": list(addresses)}}

    status = ingress_status(
        source(), report(a=at({"ip": "10.0.0.2"}), b=at({"ip": "10.0.0.1"}, {"ip": "10.0.0.2"})), NOW
    )

    assert status == {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}}


@pytest.mark.parametrize(
    ("phases", "expected"),
    [(("Bound", "Bound"), "Bound"), (("Bound", "Pending"), "Pending"), (("Bound", "Lost"), "Lost"), ((), "Pending")],
)
def test_a_claim_is_bound_when_it_is_everywhere(phases, expected):
    members = {f"c{place}": {"phase": phase} for place, phase in enumerate(phases)}

    assert claim_status(source(), report(**members), NOW)["phase"] == expected


def test_a_budget_that_one_cluster_has_used_up_says_so():
    def member(allowed):
        told = {"type": "DisruptionAllowed", "status": str(allowed > 0), "reason": "InsufficientPods"}
        return {"disruptionsAllowed": allowed, "currentHealthy": 2, "conditions": [told]}

    status = budget_status(source(), report(a=member(1), b=member(0)), NOW)

    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (1, 4)
    assert find_condition(status["conditions"], "DisruptionAllowed")["status"] == "False"


def test_a_custom_kinds_status_is_made_by_the_rules_that_it_teaches():
    def rule(text, combine):
        return TaughtField(tuple(text.split(".")), combine)

    rules = [
        rule("status.size", "Sum"), rule("status.seen", "Max"), rule("status.phase", "First"),
        rule("status.slots.free", "Min"), rule("status.conditions", "Conditions"),
    ]  # fmt: skip

    def member(size, seen, free, ready):
        told = {
            "type": "Ready",
            "status": str(ready),
            "reason": "Checked",
            "message": "all well" if ready else "no disk",
        }
        return {"size": size, "seen": seen, "phase": "Up", "slots": {"free": free}, "conditions": [told]}

    status = taught_status(
        rules, source(own="kept"), report(a=member(2, NOON, 5, True), b=member(3, LATE, 4, False)), NOW
    ).status

    assert find_condition(status.pop("conditions"), "Ready") == {
        "type": "Ready", "status": "False", "reason": "Checked", "message": "b: no disk", "lastTransitionTime": NOW,
    }  # fmt: skip
    assert status == {"own": "kept", "size": 5, "seen": LATE, "phase": "Up", "slots": {"free": 4}}


@pytest.mark.parametrize("combine", ["Sum", "Max", "Min", "First", "Conditions"])
def test_a_rule_of_which_no_member_has_anything_does_not_hurt(combine):
    rules = [TaughtField(("status", "size"), combine)]

    assert taught_status(rules, source(), report(a={}), NOW).status in ({}, {"size": 0}, {"size": []})


def test_an_autoscaler_without_metrics_is_not_written_again_where_the_server_shows_none():
    told = report(a={"currentReplicas": 2, "desiredReplicas": 2})
    first = autoscaler_status(source(), told, NOW) | {"currentMetrics": None}

    assert autoscaler_status(source(**first), told, LATE) == first


def test_what_the_server_adds_to_an_address_is_not_taken_out_again():
    at = report(a={"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}})
    shown = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP"}]}}

    assert ingress_status(source(**shown), at, NOW) == shown
    assert ingress_status(source(**shown), report(a={}), NOW) == {"loadBalancer": {}}


def test_an_autoscaled_deployment_lacks_nothing_when_it_has_what_its_autoscalers_want():
    scaled = source(spec={"replicas": 9})
    scaled["metadata"]["annotations"] = {"federation.kubernetes.io/hpa-target-cluster-list": '{"Names":["a"]}'}
    two = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    told = report(a=two)
    told.rows[0].observed["spec"] = {"replicas": 2}

    status = deployment_status(scaled, told, NOW)

    assert "unavailableReplicas" not in status
    assert true_conditions(status) == ["Available", "Progressing", "Propagated"]
