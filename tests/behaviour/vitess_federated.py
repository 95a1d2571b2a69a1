"""The shipped example over the clusters of a federation, by kubectl and `hanse vitess`: up, evacuated, one lost."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.federation import MEMBERS, Federation
from tests.kubernetes.real import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "vitess" / "federated" / "shop.yaml"
_PATIENCE = 240.0


def _status(on: Federation) -> dict[str, object]:
    found: dict[str, object] = json.loads(on.hanse("vitess", "status", "shop", "-o", "json"))
    return found


def _leaders(on: Federation) -> set[str]:
    shards = _status(on)["shards"]
    assert isinstance(shards, dict)
    return {str(each.get("member", "")) for each in shards.values()}


def it_is_ready_loses_a_cluster_and_gets_it_back(on: Federation) -> None:
    """One object is one Vitess over two clusters; emptied, one of them is lost without harm."""
    east, west = MEMBERS[0], MEMBERS[1]
    text = EXAMPLE.read_text().replace("cluster: east", f"cluster: {east}").replace("cluster: west", f"cluster: {west}")
    on.kubectl("federation", "apply", "-f", "-", input=text)
    wait_until(lambda: _status(on)["standing"] == "ready", seconds=_PATIENCE, what="it is ready")
    assert _leaders(on) == {east}
    on.hanse("vitess", "evacuate", "shop", east)
    wait_until(lambda: _leaders(on) == {west}, seconds=_PATIENCE, what="all primaries are in the other cluster")
    on.fail(east)
    wait_until(lambda: str(_status(on)["standing"])[:8] == "degraded", seconds=_PATIENCE, what="the loss is told")
    assert _leaders(on) == {west}
    on.heal(east)
    on.hanse("vitess", "evacuate", "shop", east, "--undo")
    wait_until(lambda: _status(on)["standing"] == "ready", seconds=_PATIENCE, what="it is ready again")
