"""The kubelet of virtual nodes: an API server asks it for logs and shells, and is led to where a pod really runs."""
