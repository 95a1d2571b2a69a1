"""Metacontroller's API, `metacontroller.k8s.io/v1alpha1`: controllers that are functions from a parent to children."""
