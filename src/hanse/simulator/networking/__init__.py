"""How simulated services are reached: load-balancer addresses and listeners, Endpoints and EndpointSlices."""
