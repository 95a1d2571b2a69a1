"""In a cluster to which pods are sent: each PodChaperon there is the parent of one pod that really runs."""
