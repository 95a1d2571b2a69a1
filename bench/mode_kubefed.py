"""The real KubeFed: the FederatedDeployments that Hanse is given too, in namespaces that are federated first."""

from __future__ import annotations

from bench.harness.modes import Context, Mode
from bench.mode_federated import federated_deployment, template_image


async def federated_namespaces(ctx: Context) -> None:
    """KubeFed writes into a member only what is in a namespace that a FederatedNamespace sends there."""
    for namespace in ctx.namespaces:
        await ctx.host.create(
            {
                "apiVersion": "types.kubefed.io/v1beta1",
                "kind": "FederatedNamespace",
                "metadata": {"name": namespace, "namespace": namespace},
                "spec": {"placement": {"clusterSelector": {}}},
            }
        )


MODE = Mode(workload=federated_deployment, shared=federated_namespaces, set_image=template_image)
