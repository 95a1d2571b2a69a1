"""Where the manifests of an application come from: charts, kustomizations, plain files."""

from __future__ import annotations

from hanse.rollouts.sources.interface import Sources
from hanse.rollouts.sources.manifest_sources import ManifestSources
from hanse.rollouts.sources.problem import SourceProblem
from hanse.rollouts.sources.settings import Limits, SourceSettings

__all__ = ["Limits", "ManifestSources", "SourceProblem", "SourceSettings", "Sources"]
