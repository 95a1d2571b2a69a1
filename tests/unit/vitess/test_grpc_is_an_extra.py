"""Whoever has not installed `hanse[vitess]` can use all the rest."""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["grpc"] = None
import hanse.cli.control_plane, hanse.simulator.tablets.tablet, hanse.vitess.federated.controller
import hanse.vitess.operator.running, hanse.vitess.tablets.begin_pass, hanse.vitess.topology.etcd
try:
    import hanse.vitess.tablets.grpc_calling
except ImportError:
    print("only what speaks with tablets needs gRPC")
"""


def test_without_grpc_everything_but_the_caller_of_tablets_can_be_imported():
    ran = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert (ran.stdout.strip(), ran.stderr) == ("only what speaks with tablets needs gRPC", "")
