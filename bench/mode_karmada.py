"""Karmada: plain Deployments on its API server, one PropagationPolicy a namespace."""

from __future__ import annotations

from bench.harness.modes import Context, Mode


async def karmada_policies(ctx: Context) -> None:
    """One PropagationPolicy per namespace: every Deployment to every cluster."""
    for namespace in ctx.namespaces:
        await ctx.host.create(
            {
                "apiVersion": "policy.karmada.io/v1alpha1",
                "kind": "PropagationPolicy",
                "metadata": {"name": "everywhere", "namespace": namespace},
                "spec": {
                    "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
                    "placement": {"clusterAffinity": {}},
                },
            }
        )


MODE = Mode(shared=karmada_policies)
