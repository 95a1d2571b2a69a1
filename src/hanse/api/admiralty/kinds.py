"""The kinds of `multicluster.admiralty.io/v1alpha1`."""

from __future__ import annotations

from hanse.kube.resources import Resource

GROUP = "multicluster.admiralty.io"
VERSION = "v1alpha1"

# In a cluster to which pods are sent: who may send them.
SOURCES = Resource(GROUP, VERSION, "sources", "Source")
CLUSTER_SOURCES = Resource(GROUP, VERSION, "clustersources", "ClusterSource", namespaced=False)
# In a cluster whose pods run elsewhere: where they may.
TARGETS = Resource(GROUP, VERSION, "targets", "Target")
CLUSTER_TARGETS = Resource(GROUP, VERSION, "clustertargets", "ClusterTarget", namespaced=False)
# In every cluster: what all its nodes have together. There is one, of this name.
CLUSTER_SUMMARIES = Resource(GROUP, VERSION, "clustersummaries", "ClusterSummary", namespaced=False)
SUMMARY_NAME = "singleton"
# In a cluster to which pods are sent: the parent of the one pod that really runs.
POD_CHAPERONS = Resource(GROUP, VERSION, "podchaperons", "PodChaperon")
