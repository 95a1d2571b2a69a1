"""What the judge of random lambda controllers takes for wanted."""

import orjson
import pytest

from hanse.apiserver.storage import Change
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS, SECRETS, Resource
from hanse.kube.transport import Request
from tests.simulation.composite.random_judge import CompositeJudge
from tests.simulation.composite.stage import WIDE_THINGS
from tests.simulation.random_truth import bucket_of

WIDE: Obj = {"kind": WIDE_THINGS.kind, "metadata": {"name": "wide", "uid": "parent"}}
INPUT: Obj = {"metadata": {"name": "in-2", "uid": "first"}}
OWNER = {"kind": WIDE_THINGS.kind, "name": "wide", "uid": "parent", "controller": True}
COPY: Obj = {"kind": "Secret", "metadata": {"name": "copy-in-2", "uid": "copy", "ownerReferences": [OWNER]}}


def store(judge: CompositeJudge, kind: Resource, obj: Obj, *, deleted: bool = False) -> None:
    path = f"default/{obj['metadata']['name']}"
    judge.hear(Change(bucket_of(kind), path, 1, orjson.dumps(obj), None, deleted))


def delete_the_copy(judge: CompositeJudge) -> list[str]:
    request = Request("DELETE", "/api/v1/namespaces/default/secrets/copy-in-2")
    judge.carried_out("one", request, SECRETS, COPY)
    return judge.found


@pytest.fixture
def judge() -> CompositeJudge:
    found = CompositeJudge()
    store(found, WIDE_THINGS, WIDE)
    store(found, CONFIGMAPS, INPUT)
    store(found, SECRETS, COPY)
    return found


def test_what_is_wanted_for_an_input_that_is_there_must_not_be_deleted(judge):
    judge.answered("one", WIDE, "in-2", [COPY], INPUT)

    assert delete_the_copy(judge) == ["nothing that is wanted: Secret copy-in-2 was deleted"]


def test_what_was_wanted_for_an_input_that_has_gone_may_be_deleted(judge):
    judge.answered("one", WIDE, "in-2", [COPY], INPUT)

    store(judge, CONFIGMAPS, INPUT, deleted=True)

    assert delete_the_copy(judge) == []


def test_a_hook_that_answers_after_its_input_has_gone_wants_nothing(judge):
    store(judge, CONFIGMAPS, INPUT, deleted=True)

    judge.answered("one", WIDE, "in-2", [COPY], INPUT)

    assert delete_the_copy(judge) == []


def test_a_late_answer_for_an_input_says_nothing_of_another_of_its_name(judge):
    store(judge, CONFIGMAPS, INPUT, deleted=True)
    store(judge, CONFIGMAPS, {"metadata": {"name": "in-2", "uid": "second"}})

    judge.answered("one", WIDE, "in-2", [COPY], INPUT)

    assert delete_the_copy(judge) == []
