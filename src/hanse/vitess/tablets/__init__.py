"""Tablets: asking them, draining them one at a time, and deciding who is primary."""
