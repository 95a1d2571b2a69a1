"""Rollouts on real clusters."""
