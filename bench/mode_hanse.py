"""Hanse: plain Deployments applied to the federation's host; the native front door needs no policy object."""

from __future__ import annotations

from bench.harness.modes import Mode

MODE = Mode()
