"""Hostile manifests, annotations and answers through everything that reads what users write."""
