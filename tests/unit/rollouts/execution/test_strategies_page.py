"""The strategies that docs/reference/rollouts.md shows can be read, and mean what it says."""

import re
from pathlib import Path

import pytest
import yaml

from hanse.rollouts.environment import Remedy, parse_strategy

PAGE = Path(__file__).parents[4] / "docs/reference/rollouts.md"
SHOWN = [
    block["strategy"]
    for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if "strategy" in (block := yaml.safe_load(text))
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: next(reversed(shown)))
def test_what_the_page_shows_can_be_read(shown):
    read = parse_strategy(shown)

    assert read.steps or read.waves or read.deadline


def test_what_the_page_shows_beyond_shipper_is_understood():
    read = [parse_strategy(shown) for shown in SHOWN]

    checks = next(strategy for strategy in read if any(step.checks for step in strategy.steps))
    waves = next(strategy for strategy in read if strategy.waves).waves
    deadline = next(strategy.deadline for strategy in read if strategy.deadline)
    assert (checks.on_failure, checks.steps[0].pause_seconds) == (Remedy.ROLLBACK, 600.0)
    assert [(check.name, check.count, check.interval_seconds) for check in checks.steps[0].checks] == [
        ("errors", 10, 30.0),
        ("smoke", 1, 30.0),
    ]
    assert [(wave.name, wave.pause_seconds, wave.regions) for wave in waves] == [
        ("canary", 300.0, ()),
        ("europe", 0.0, ("eu-west", "eu-north")),
    ]
    assert (deadline.seconds, deadline.then) == (900.0, Remedy.ROLLBACK)
