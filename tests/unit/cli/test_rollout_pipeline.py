"""The pipeline of examples/rollouts, with stand-ins for the two programs that it calls."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "examples/rollouts/pipeline/deploy.sh"
# Writes down how it was called, and ends with the code that CODE says where the call has the word of FAILS.
STAND_IN = '#!/bin/sh\necho "$(basename "$0") $*" >> "$CALLS"\ncase "$*" in *"$FAILS"*) exit "$CODE";; esac\n'


def deploy(folder, *, fails="nothing at all", code=0):
    calls = folder / "calls"
    for name in ("hanse", "kubectl"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    surroundings = {"PATH": f"{folder}:{os.defpath}", "VERSION": "2", "CALLS": str(calls), "FAILS": fails}
    done = subprocess.run(
        ["/bin/sh", str(SCRIPT), "shop", "deploy"],
        env={**surroundings, "CODE": str(code)},
        capture_output=True,
        check=False,
    )
    made = [line.split(" -p ")[0] for line in calls.read_text().splitlines() if "apply" not in line]
    return done.returncode, sorted(made[:1]) + made[1:]


def test_a_rollout_that_succeeds_goes_through_every_step(tmp_path):
    code, calls = deploy(tmp_path)

    assert code == 0
    assert calls == [
        "hanse rollout pack deploy --name shop-2",
        "kubectl patch applications.shipper.booking.com shop --type=merge",
        "hanse rollout status shop --timeout 10m",
        "hanse rollout promote shop --to half --wait --timeout 10m",
        "hanse rollout promote shop --full --wait --timeout 10m",
        "hanse rollout status shop --complete --timeout 10m",
    ]


@pytest.mark.parametrize(("code", "aborts"), [(3, True), (4, True), (1, False)])
def test_a_rollout_that_does_not_get_there_is_given_up(tmp_path, code, aborts):
    ended, calls = deploy(tmp_path, fails="--to half", code=code)

    assert ended == code
    assert ("hanse rollout abort shop --yes" in calls) is aborts
    assert not any("--full" in call for call in calls)
