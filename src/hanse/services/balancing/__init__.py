"""The global balancer: one address in front of every cluster, for clients that cannot follow DNS."""
