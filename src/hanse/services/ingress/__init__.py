"""One entrance for many clusters: federated Ingresses, and global load balancers made for an Ingress."""
