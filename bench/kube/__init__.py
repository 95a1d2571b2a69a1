"""The bench of the Kubernetes machinery: what `hanse.kube` costs beside bare HTTP on the same API server."""
