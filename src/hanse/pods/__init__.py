"""Pods that run elsewhere: any annotated pod runs in the best cluster, and its owner believes that it runs at home."""
