"""Virtual nodes: Node objects that stand for a target, on which nothing runs."""

from __future__ import annotations

from hanse.api.admiralty.keys import PROVIDER, PROVIDER_NAME
from hanse.kube.manifest import Obj, dig


def is_virtual(node: Obj) -> bool:
    """Tell whether a Node stands for another cluster: what it shows is counted where it really is.

    Nodes of other virtual kubelets are not meant: containers do run behind them that run nowhere else.
    """
    labels = dig(node, "metadata", "labels", default={}) or {}
    return bool(labels.get(PROVIDER) == PROVIDER_NAME)
