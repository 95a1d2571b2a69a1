"""What a simulated cluster lacks for each test that a real control plane passes and it does not."""

from __future__ import annotations

from collections.abc import Mapping

# Parts of tests' names, by what is missing.
CAUSES: Mapping[str, tuple[str, ...]] = {
    "The embedded API server has no priority levels, so it does not serve the kinds that would configure them": (
        "API priority and fairness",
    ),
    "Simulated Jobs know neither success policies nor limits of failures for each index": (
        "Job with successPolicy",
        "exceeds maxFailedIndexes",
    ),
    "Simulated Jobs do not take back a pod that was orphaned": ("Job should adopt matching orphans",),
    "A strict write with both unknown and repeated fields is told of the repeated ones only": (
        "FieldValidation should detect unknown and duplicate fields of a typed object",
    ),
    "Keys that stand twice in a YAML body are not noticed": (
        "FieldValidation should detect duplicates in a CR when preserving unknown fields",
    ),
    "A default that a definition gains later is not given to objects that were stored before": (
        "custom resource defaulting for requests and from storage works",
    ),
    "The network of Services is not recorded as a ServiceCIDR": ("should support ServiceCIDR API operations",),
}


def cause_of(name: str) -> str:
    """Return what is missing for a test, "" where nobody has said it yet."""
    return next((cause for cause, parts in CAUSES.items() if any(part in name for part in parts)), "")
