"""What workloads are told of the autoscaler that scales them, and of the one that does no longer."""

import pytest

from hanse.api.names import AUTOSCALED_ANNOTATION, SCALES_ANNOTATION
from hanse.native.scaling import scaling_mark
from hanse.placement.decision import Decision
from hanse.propagation.report import Report, Row

REPORT = Report(Decision(()), (Row("a", {}, None, live=True), Row("b", None, None, live=True)))


def autoscaler(kind="Deployment", name="web", scales=""):
    metadata = {"name": "hpa", "namespace": "shop", "annotations": {SCALES_ANNOTATION: scales} if scales else {}}
    return {"metadata": metadata, "spec": {"scaleTargetRef": {"kind": kind, "name": name}}}


def flat(mark):
    """Every mark in the order in which it is written."""
    if mark is None:
        return []
    return [*(one for each in mark.before for one in flat(each)), (str(mark.ref), mark.annotation, mark.text)]


OLD = ("deployments/shop/old", AUTOSCALED_ANNOTATION, None)
NOTED = ("horizontalpodautoscalers/shop/hpa", SCALES_ANNOTATION, "deployments.apps/web")
TOLD = ("deployments/shop/web", AUTOSCALED_ANNOTATION, '{"Names":["a"]}')
UNTOLD = ("deployments/shop/web", AUTOSCALED_ANNOTATION, None)

CASES = {
    "the first time": (autoscaler(), REPORT, [NOTED, TOLD]),
    "the same as before": (autoscaler(scales="deployments.apps/web"), REPORT, [NOTED, TOLD]),
    "another than before": (autoscaler(scales="deployments.apps/old"), REPORT, [OLD, NOTED, TOLD]),
    "a target that cannot be scaled": (autoscaler("StatefulSet", scales="deployments.apps/old"), REPORT, [OLD]),
    "going": (autoscaler(scales="deployments.apps/old"), None, [OLD, UNTOLD]),
    "a note that means nothing": (autoscaler(scales="web"), None, [UNTOLD]),
    "nothing ever": (autoscaler("StatefulSet"), REPORT, []),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_former_workload_hears_of_it_first_and_the_note_is_written_before_the_new_one_is_told(case):
    source, report, marks = case

    assert flat(scaling_mark(source, report)) == marks
