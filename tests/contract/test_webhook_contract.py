"""Both servers ask the same webhooks the same, and make the same of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.component.apiserver.admission_webhook import Webhook, serving
from tests.contract.embedded import embedded_server
from tests.contract.judging import Found, address_of, found_between, judge
from tests.contract.playing import Played, Server, play_all
from tests.contract.shape import JUDGE
from tests.contract.step import Step
from tests.contract.webhook_differences import KNOWN
from tests.contract.webhook_script import MARKER, answers, steps
from tests.kubernetes.real import real_clusters


async def play(server: Server, webhook: Webhook) -> tuple[Mapping[str, Played], list[Played]]:
    """Return the answers of a server, and the reviews that it asked for on the way."""
    webhook.asked.clear()
    webhook.stuck.clear()
    answers(webhook)
    played = await play_all(server, steps(webhook))
    webhook.stuck.set()
    asked = [(path, request) for path, request in webhook.asked if request.get("name") != MARKER]
    return played, [Played(200, {}, {"path": path, "request": _reviewed(request)}) for path, request in asked]


def _reviewed(value: Any) -> Any:
    """Leave out who asked, and who owns which field: other tests compare those."""
    if isinstance(value, dict):
        return {key: _reviewed(one) for key, one in value.items() if key not in ("userInfo", "managedFields")}
    return [_reviewed(one) for one in value] if isinstance(value, list) else value


async def compare(real: Server, folder: Path) -> list[Found]:
    """Return the differences of answers and of reviews."""
    async with serving(folder / "webhook") as webhook, embedded_server(folder / "embedded") as embedded:
        theirs, their_reviews = await play(real, webhook)
        ours, our_reviews = await play(embedded, webhook)
        found = found_between(theirs, ours, steps(webhook))
    paths = [[one.body["path"] for one in reviews] for reviews in (their_reviews, our_reviews)]
    assert paths[0] == paths[1]
    names = [f"review {place}: {path}" for place, path in enumerate(paths[0])]
    reviews = [dict(zip(names, one, strict=True)) for one in (their_reviews, our_reviews)]
    return found + found_between(reviews[0], reviews[1], [Step(name) for name in names])


@pytest.mark.kubernetes
@pytest.mark.timeout(300)
def test_webhooks_are_asked_and_heeded_alike(tmp_path: Path) -> None:
    with real_clusters({"webhooks": JUDGE}) as clusters:
        found = asyncio.run(compare(address_of(clusters["webhooks"]), tmp_path))
    verdict = judge(found, KNOWN)
    assert not verdict.unlisted, "not listed:\n" + "\n".join(map(str, verdict.unlisted))
    assert not verdict.stale, f"no longer differ: {verdict.stale}"
