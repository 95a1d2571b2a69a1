"""HAProxy as a global balancer: configured, started and driven at run time."""
