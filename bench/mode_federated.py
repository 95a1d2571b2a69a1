"""Hanse's door of federated types: for each Deployment a FederatedDeployment that holds it and goes everywhere."""

from __future__ import annotations

from bench.harness.modes import Context, Mode, Patch, json_patch
from bench.harness.rest import Manifest, path_of


def federated_deployment(_ctx: Context, deployment: Manifest) -> list[Manifest]:
    """Wrap a Deployment. Its annotations stay outside: of a template's metadata only labels travel."""
    metadata = deployment["metadata"]
    template = {"metadata": {"labels": metadata["labels"]}, "spec": deployment["spec"]}
    return [
        {
            "apiVersion": "types.kubefed.io/v1beta1",
            "kind": "FederatedDeployment",
            "metadata": metadata,
            "spec": {"template": template, "placement": {"clusterSelector": {}}},
        }
    ]


def template_image(_ctx: Context, objects: list[Manifest], image: str) -> list[Patch]:
    """Return the patch that gives the template another image."""
    return [json_patch(path_of(objects[0]), "/spec/template/spec/template/spec/containers/0/image", image)]


MODE = Mode(workload=federated_deployment, set_image=template_image)
