"""The functions that Kubernetes adds to CEL, one module a library.

The engine knows no foreign types, so a quantity, an address, a URL or a version travels as a map with one telling
key: equality then holds where the values are equal, and a function refuses what is not its own.
"""

from hanse.kube.cel.library import (
    authorizer,
    formats,
    lists,
    maps,
    network,
    patches,
    quantities,
    texts,
    urls,
    versions,
)
from hanse.kube.cel.library.function import Function

FUNCTIONS: tuple[Function, ...] = (
    *lists.FUNCTIONS,
    *maps.FUNCTIONS,
    *texts.FUNCTIONS,
    *urls.FUNCTIONS,
    *network.FUNCTIONS,
    *quantities.FUNCTIONS,
    *versions.FUNCTIONS,
    *formats.FUNCTIONS,
    *authorizer.FUNCTIONS,
    *patches.FUNCTIONS,
)

__all__ = ["FUNCTIONS", "Function"]
