"""Changing manifests: JSON patch, merge patch, strategic merge patch and server-side apply, each as pure functions."""
