"""The example controllers as they are in the repository: their YAML, and their hooks as functions of this process."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from hanse.kube.manifest import Obj
from tests.simulation.composite.stage import Calls, Function, Stage

FOLDER = Path(__file__).parents[3] / "examples" / "composites"
HOOKS = ("sync", "finalize", "customize")


@dataclass(frozen=True)
class Example:
    """One folder of examples."""

    name: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @cached_property
    def functions(self) -> dict[str, Function]:
        """What hook.py has."""
        found = runpy.run_path(str(self.folder / "hook.py"))
        return {name: found[name] for name in HOOKS if name in found}

    @cached_property
    def config_map(self) -> str:
        """The ConfigMap that holds the hooks, as kustomization.yaml makes it."""
        (generated,) = self.documents("kustomization.yaml")[0]["configMapGenerator"]
        return str(generated["name"])

    def documents(self, file: str) -> list[Obj]:
        return list(yaml.safe_load_all((self.folder / file).read_text()))

    async def serve(self, on: Stage, *, controller: str = "controller.yaml") -> None:
        """Do what `kubectl apply -k` does, with the hooks in this process."""
        on.python(self.config_map, self.functions)
        if (self.folder / "crd.yaml").exists():
            for document in self.documents("crd.yaml"):
                await on.create(document)
        for document in self.documents(controller):
            await on.create(document)

    async def create(self, on: Stage, **spec: Any) -> Obj:
        """Create what the parent needs, and then the parent, of which fields of the spec may be others."""
        for file in sorted(self.folder.glob("s*.yaml")):
            for document in self.documents(file.name):
                await _created(on, document)
        (parent,) = self.documents("parent.yaml")
        parent["spec"] |= spec
        return await _created(on, parent)

    def hook(self, on: Stage, name: str = "sync") -> Calls:
        """Return one of its hooks, which the test may break."""
        return on.hooks[f"{self.config_map}/{name}"]


async def _created(on: Stage, document: Obj) -> Obj:
    """Create a document where kubectl would."""
    resource = await on.client.resource_of(document)
    namespace = {"namespace": "default"} if resource.namespaced else {}
    return await on.client.create(resource, {**document, "metadata": namespace | document["metadata"]})
