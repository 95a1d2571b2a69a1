"""What is said where an application's manifests cannot be had."""

from __future__ import annotations

# Reasons of a Release's and of an Application's conditions; the words are Shipper's.
CHART_FETCH_FAILURE = "ChartFetchFailure"
BROKEN_CHART_SPEC = "BrokenChartSpec"
CHART_REPO_INTERNAL = "ChartRepoInternal"
NO_CACHED_INDEX = "NoCachedChartRepoIndex"
WRONG_DEPLOYMENTS = "WrongChartDeployments"
CHART_ERROR = "ChartError"

# What only somebody who changes the application can mend.
_OF_THE_APPLICATION = (BROKEN_CHART_SPEC, CHART_REPO_INTERNAL)


class SourceProblem(Exception):
    """Why there are no manifests: a reason for a condition, and one sentence for its message.

    `transient` tells whether the same attempt may succeed later although nobody changes the application.
    """

    def __init__(self, reason: str, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.transient = transient

    def of(self, address: str) -> SourceProblem:
        """Return the problem as one of what is at an address: folders and ConfigMaps change under the same name."""
        mends = self.reason not in _OF_THE_APPLICATION and address.startswith(("file:", "configmap:"))
        return SourceProblem(self.reason, str(self), transient=True) if mends and not self.transient else self
