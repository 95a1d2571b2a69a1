"""Whether an Application out of a file becomes a new release."""

import pytest

from hanse.api.shipper.kinds import APPLICATIONS, CHART_RAW_ANNOTATION, RELEASES, ROLLOUT_BLOCKS
from hanse.cli.changes import document, summary, told
from hanse.cli.failures import Failure
from hanse.cli.naming import not_federated, require_not_rolled_out
from hanse.cli.outlook import Outlook
from hanse.cli.rollout_foreseeing import foresee_release
from hanse.kube.resources import DEPLOYMENTS
from hanse.propagation.foresight import ClusterChange, Effect
from tests.unit.cli.rollout_cases import application

RANGE = {CHART_RAW_ANNOTATION: "0.0.x"}


@pytest.mark.parametrize(
    ("now", "then", "is_new", "says"),
    [
        (None, application(), True, "a new release; `hanse rollout render -f FILE` shows what it is made of"),
        (application(), application(version="0.0.2"), True, "a new release; "),
        (application(), application(), False, "its template is unchanged and makes no new release"),
        (
            application(annotations=RANGE),
            application(version="0.0.x"),
            True,
            "a new release if the newest chart version in '0.0.x' is another than 0.0.1 by now",
        ),
        (application(annotations=RANGE), application(version="0.x"), True, "a new release; "),
    ],
)
def test_an_application_is_compared_by_its_template(now, then, is_new, says):
    found = foresee_release(now, then)

    assert (found.is_new, found.trouble) == (is_new, "")
    assert found.note.startswith(says)


def test_a_template_that_is_the_same_release_is_no_new_one_however_it_is_written():
    then = application()
    then["spec"]["template"]["clusterRequirements"]["capabilities"] = []

    assert not foresee_release(application(), then).is_new


def test_a_template_that_is_wrong_is_said_to_be():
    then = application()
    del then["spec"]["template"]["chart"]

    assert foresee_release(None, then).trouble


def test_a_plan_with_a_new_release_never_says_that_nothing_would_change():
    made = Outlook("Application shop/web", note="a new release; look", new_release=True)
    created = Outlook("ConfigMap c", (ClusterChange("a", Effect.CREATED, None, {"kind": "ConfigMap"}),))

    assert told([made]) == "Application shop/web: a new release; look\n1 new release.\n"
    assert summary([made, made, created]) == "1 created over all clusters. 2 new releases."
    assert [each["newRelease"] for each in document([made, created])["objects"]] == [True, False]
    assert (made.differs, created.differs, Outlook("x", note="unchanged").differs) == (True, True, False)


@pytest.mark.parametrize(
    ("resource", "command"),
    [
        (APPLICATIONS, "`hanse rollout get web`"),
        (RELEASES, "`hanse rollout get APP`"),
        (ROLLOUT_BLOCKS, "`hanse rollout get APP`"),
    ],
)
def test_what_belongs_to_a_rollout_is_shown_by_its_own_command(resource, command):
    with pytest.raises(Failure) as refused:
        require_not_rolled_out(resource, "web")

    assert f"{command} shows an application with its releases, clusters and pods" in str(refused.value)
    assert "hanse enable" not in not_federated(resource, [])
    require_not_rolled_out(DEPLOYMENTS, "web")
