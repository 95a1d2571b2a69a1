"""Asking a person while an event loop runs."""

from __future__ import annotations

import signal
import threading

import click


def confirmed(question: str) -> bool:
    """Ask a person yes or no; Ctrl-C at the question ends the command, also where a loop runs around it."""
    if threading.current_thread() is not threading.main_thread():
        return click.confirm(question, err=True)
    # A loop's own handler only cancels its task, which cannot notice before the question is answered.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm(question, err=True)
    finally:
        signal.signal(signal.SIGINT, before)
