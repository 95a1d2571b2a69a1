"""Lines of Admiralty's checklist that no room has for itself."""

from hanse.api.admiralty.keys import NO_RESERVATION
from hanse.pods.placeholder.template import chaperon_of


def test_25_the_scheduler_that_the_spec_names_is_asked_in_the_target():
    pod = {
        "metadata": {"name": "p", "annotations": {NO_RESERVATION: ""}},
        "spec": {"schedulerName": "fargate-scheduler", "containers": [{"name": "c", "image": "i"}]},
    }
    placeholder = {"metadata": {"name": "p", "namespace": "batch", "uid": "u1"}}

    assert chaperon_of("eu", placeholder, pod)["spec"]["schedulerName"] == "fargate-scheduler"
