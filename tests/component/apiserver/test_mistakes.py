"""People's mistakes are refused in the words of a real server, which tests/contract/refusals.json keeps."""

from __future__ import annotations

from tests.component.apiserver.conftest import Api
from tests.contract.known_differences import KNOWN
from tests.contract.normalising import normalised
from tests.contract.playing import Played
from tests.contract.refusals import recorded
from tests.contract.script.mistakes import STEPS

_TRIED = [step for step in STEPS if step.method == "POST" and "dryRun" in step.path]


async def test_every_mistake_is_refused_in_the_words_of_a_real_server(api: Api) -> None:
    for name in ("mistakes", "pod-mistakes"):
        await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    told = {}
    for step in _TRIED:
        answer = await api.create(step.path, step.body)
        if answer.code >= 400:
            shown = normalised(Played(answer.code, {}, answer.body))
            told[step.name] = str(shown["body"]["message"])
    worded_otherwise = {name for name in recorded() if any(row.covers(name, "$.body.message") for row in KNOWN)}
    assert len(recorded()) > 250
    assert told.keys() == recorded().keys()
    assert {name: text for name, text in told.items() if name not in worded_otherwise} == {
        name: text for name, text in recorded().items() if name not in worded_otherwise
    }
