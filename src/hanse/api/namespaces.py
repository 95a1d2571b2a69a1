"""The namespaces in which clusters and Hanse keep what is their own: nobody's pods are sent from or into them."""

from __future__ import annotations

from hanse.api.names import AGENT_NAMESPACE_PREFIX, SYSTEM_NAMESPACE

SYSTEM_PREFIXES = ("kube-", AGENT_NAMESPACE_PREFIX)
SYSTEM_NAMESPACES = (SYSTEM_NAMESPACE,)


def is_system(namespace: str) -> bool:
    """Tell whether a namespace is the cluster's own or Hanse's."""
    return namespace.startswith(SYSTEM_PREFIXES) or namespace in SYSTEM_NAMESPACES


def stays_sentence(kind: str, namespace: str) -> str:
    """Say of objects of a kind, in the plural, that those of a system namespace are not for other clusters."""
    return f"{kind} of namespace {namespace} never run elsewhere: it is the cluster's own; create it in another one"
