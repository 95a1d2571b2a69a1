"""The log of servers that strangers can reach: silent about bytes that are no HTTP, or no body.

Whoever can open a connection could otherwise fill the log with tracebacks; the client has its 400 all the same.
"""

from __future__ import annotations

import logging

from aiohttp.http import HttpProcessingError
from aiohttp.web import RequestPayloadError


class _ClientsFaults(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, HttpProcessingError | RequestPayloadError)


SERVER_LOG = logging.getLogger("hanse.http")
SERVER_LOG.addFilter(_ClientsFaults())
