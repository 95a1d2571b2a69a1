"""Admission: what the cluster itself decides about a write, and what its policies and webhooks say.

The cluster's own part completes objects and guards namespaces. Policies and webhooks are configured by objects of
admissionregistration.k8s.io; `mutate`, `validate` and `admit_deletion` carry them out in upstream's order, and
`admit_part` and `admit_connection` for what is sent to subresources.
"""

from hanse.apiserver.admission.chain import admit_deletion, admit_part, mutate, validate
from hanse.apiserver.admission.cluster import admit_new, allocate, check_namespace_accepts, check_namespace_may_go
from hanse.apiserver.admission.connections import admit_connection

__all__ = [
    "admit_connection",
    "admit_deletion",
    "admit_new",
    "admit_part",
    "allocate",
    "check_namespace_accepts",
    "check_namespace_may_go",
    "mutate",
    "validate",
]
