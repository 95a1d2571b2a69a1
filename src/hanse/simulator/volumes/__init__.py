"""The storage of a simulated cluster: volumes are provisioned for claims, bound, and reclaimed."""
