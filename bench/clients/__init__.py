"""The clients of seed 003 under load while a cluster dies: how each class asks, and what it gets."""
