"""Google's global load balancer: the resources it is made of, and the Compute API that keeps them."""
