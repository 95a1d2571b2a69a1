"""Simulated tablets: no MySQL, but positions, roles and replication that behave, and the calls of a tablet manager."""
