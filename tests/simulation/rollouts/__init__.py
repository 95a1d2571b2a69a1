"""Rollouts in whole federations on virtual time."""
