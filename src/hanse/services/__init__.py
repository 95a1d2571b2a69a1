"""One name for a service of many clusters: discovery, DNS, health by quorum, ingress and global load balancing."""
