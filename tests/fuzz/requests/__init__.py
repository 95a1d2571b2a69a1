"""Requests against the embedded API server in a process of its own."""
