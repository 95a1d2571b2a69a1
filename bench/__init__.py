"""Benches: ratios against raw API servers in one run; results with their history in RESULTS.md."""
