"""Modes of the propagation bench are found by name or by file."""

from pathlib import Path
from typing import cast

import orjson
import pytest

from bench.harness.modes import RAW, Context, load_mode, no_policies
from bench.harness.rest import Api
from bench.harness.workload import IMAGE_AFTER, deployment
from hanse.kube.patches.json_patch import apply_json_patch


def test_raw_writes_straight_into_the_members() -> None:
    assert load_mode("raw") is RAW
    assert RAW.direct


def test_hanse_needs_nothing_beside_the_deployment() -> None:
    mode = load_mode("hanse")

    assert not mode.direct
    assert mode.shared.__name__ == no_policies.__name__


def test_federated_types_hold_the_same_deployment_without_what_does_not_travel() -> None:
    mode, plain = load_mode("federated"), deployment("run", "burst", "shop", "web")
    ctx = Context("run", cast("Api", None), [], ["shop"])

    (written,) = mode.workload(ctx, plain)

    template = written["spec"]["template"]
    assert template == {"metadata": {"labels": plain["metadata"]["labels"]}, "spec": plain["spec"]}
    assert written["spec"]["placement"] == {"clusterSelector": {}}
    (patch,) = mode.set_image(ctx, [written], IMAGE_AFTER)
    assert patch.path == "/apis/types.kubefed.io/v1beta1/namespaces/shop/federateddeployments/web"
    changed = apply_json_patch(written, orjson.loads(patch.body))
    assert changed["spec"]["template"]["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE_AFTER


def test_a_mode_may_live_in_any_file(tmp_path: Path) -> None:
    plugin = tmp_path / "elsewhere.py"
    plugin.write_text("from bench.harness.modes import Mode\nOURS = Mode(direct=True)\n")

    assert load_mode(f"{plugin}:OURS").direct


@pytest.mark.parametrize("name", ["nonesuch", "missing.py:MODE"])
def test_an_unknown_mode_is_refused_with_the_known_ones(name: str) -> None:
    known = "raw, federated, hanse, karmada, kubefed, migrated or FILE:NAME"
    with pytest.raises(SystemExit, match=f"unknown mode '{name}': use {known}"):
        load_mode(name)
