"""Placeholders: what stands in a source for a pod that runs in a target, from admission to its end."""
