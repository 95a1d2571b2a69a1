"""A plain client on a socket: writes what it is given and tells what came back, how soon, or that nothing did."""

from __future__ import annotations

import socket
import ssl
import time
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

from tests.fuzz.requests.case import Ending, Sent

ANSWER_SECONDS = 10.0
_READ_LIMIT = 16 * 1024 * 1024
_OPEN_AT_ONCE = 60
_MOMENT = 0.03


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of something sent; a code of 0 is a connection that ended without an answer."""

    code: int
    body: bytes
    seconds: float
    hung: bool = False


class Wire:
    """Connections to one server."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._port = port
        self._tls = tls
        self._kept: ssl.SSLSocket | None = None
        self._left_open: list[socket.socket] = []

    def send(self, sent: Sent) -> Outcome:
        """Send bytes and see what becomes of them."""
        started = time.monotonic()
        if sent.ending is Ending.ANSWER:
            return self._ask(sent, started)
        return self._mistreat(sent, started)

    def close(self) -> None:
        """Let go of every connection."""
        for one in (*self._left_open, *([self._kept] if self._kept else [])):
            one.close()
        self._left_open, self._kept = [], None

    def trickle(self) -> None:
        """Send a byte on every connection that was left open; those that the server ended are let go."""
        for one in list(self._left_open):
            try:
                one.send(b"a")
            except OSError:
                self._left_open.remove(one)
                one.close()

    def _ask(self, sent: Sent, started: float) -> Outcome:
        for attempt in (1, 2):
            reused = self._kept is not None
            try:
                if self._kept is None:
                    self._kept = self._connected()
                self._kept.sendall(sent.data)
                return self._answer(self._kept, sent, started)
            except TimeoutError:
                self._drop()
                return Outcome(0, b"", time.monotonic() - started, hung=True)
            except (HTTPException, OSError) as error:
                self._drop()
                # A server may end an idle connection; a new one tells whether it was that.
                if not reused or attempt == 2:
                    return Outcome(0, repr(error).encode(), time.monotonic() - started)
        raise AssertionError("two attempts end in an outcome")

    def _answer(self, connection: ssl.SSLSocket, sent: Sent, started: float) -> Outcome:
        response = HTTPResponse(connection, method=sent.method)
        response.begin()
        endless = response.getheader("Transfer-Encoding") == "chunked" or response.status == 101
        body = b"" if endless else response.read(_READ_LIMIT)
        seconds = time.monotonic() - started
        if endless or response.will_close or response.getheader("Connection", "").lower() == "close":
            self._drop()
        return Outcome(response.status, body, seconds)

    def _mistreat(self, sent: Sent, started: float) -> Outcome:
        try:
            connection = self._connected() if sent.tls else socket.create_connection(("127.0.0.1", self._port), 10.0)
        except OSError as error:
            return Outcome(0, repr(error).encode(), time.monotonic() - started, hung=isinstance(error, TimeoutError))
        try:
            connection.sendall(sent.data)
            if sent.ending is Ending.ABORTED:
                return Outcome(0, b"", time.monotonic() - started)
            if sent.ending is Ending.LEFT_OPEN:
                self._left_open.append(connection)
                return Outcome(0, b"", time.monotonic() - started)
            return _until_ended(connection, started)
        except OSError as error:
            return Outcome(0, repr(error).encode(), time.monotonic() - started, hung=isinstance(error, TimeoutError))
        finally:
            if connection not in self._left_open:
                connection.close()
            while len(self._left_open) > _OPEN_AT_ONCE:
                self._left_open.pop(0).close()

    def _connected(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self._port), ANSWER_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._tls.wrap_socket(plain, server_hostname="127.0.0.1")

    def _drop(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None


def _until_ended(connection: socket.socket, started: float) -> Outcome:
    """Read what is there already, send no more, and wait until the server ends the connection too."""
    connection.settimeout(_MOMENT)
    found = b""
    try:
        found = connection.recv(65536)
    except TimeoutError:
        pass  # it waits for more
    except OSError:
        return Outcome(0, b"", time.monotonic() - started)
    connection.shutdown(socket.SHUT_WR)
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            if not connection.recv(65536):
                break
        except TimeoutError:
            return Outcome(_code(found), found, time.monotonic() - started, hung=True)
        except OSError:
            break
    return Outcome(_code(found), found, time.monotonic() - started)


def _code(answer: bytes) -> int:
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.") and answer[9:12].isdigit() else 0
