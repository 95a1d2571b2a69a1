"""The run: packets in small batches, each ended by a question whose answer must come."""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import dns.message
import dns.rcode

from bench.dns_servers import service_name
from tests.fuzz.dns.packets import Packet, packet_of
from tests.fuzz.dns.served import IDLE_SECONDS, ServedDns, served
from tests.fuzz.watched import grown

ANSWER_SECONDS = 5.0
UDP_LIMIT = 1232
GROWTH_MEGABYTES = 16.0
_BATCH = 16
_LOOK_EVERY = 5000
_OPEN_AT_ONCE = 30
_SERVFAIL = 2


@dataclass(slots=True)
class Tally:
    """What a run has seen."""

    cases: int = 0
    answers: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    largest: float = 0.0
    """The largest answer by UDP as a multiple of its question."""
    memory: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class _Client:
    def __init__(self, server: ServedDns, tally: Tally) -> None:
        self._server = server
        self._tally = tally
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.connect(("127.0.0.1", server.port))
        self._udp.settimeout(ANSWER_SECONDS)
        self._left_open: list[socket.socket] = []
        # Of a name that no case asks for: what comes with it is the answer to the batch's last question.
        self._last = dns.message.make_query(service_name(7), "A", use_edns=0, payload=UDP_LIMIT).to_wire()

    def batch(self, first: int, packets: list[Packet]) -> None:
        started = time.monotonic()
        sizes = []
        for number, packet in enumerate(packets, first):
            if packet.tcp:
                self._speak(number, packet)
            elif packet.data:
                self._udp.send(packet.data)
                sizes.append(len(packet.data))
        self._udp.send(self._last)
        try:
            answers = self._answers()
        except TimeoutError:
            self._fault(first, len(packets), f"a good question had no answer within {ANSWER_SECONDS:g} s")
            return
        self._tally.slowest = max(self._tally.slowest, time.monotonic() - started)
        self._judge(first, packets, answers, sizes)

    def close(self) -> None:
        for one in self._left_open:
            one.close()
        self._udp.close()

    def _answers(self) -> list[bytes]:
        found: list[bytes] = []
        while True:
            answer = self._udp.recv(65535)
            found.append(answer)
            if answer[:2] == self._last[:2] and answer[12 : len(self._last)].startswith(self._last[12:40]):
                return found

    def _judge(self, first: int, packets: list[Packet], answers: list[bytes], sizes: list[int]) -> None:
        self._tally.answers += len(answers)
        if len(answers) > len(sizes) + 1:
            self._fault(first, len(packets), f"{len(answers)} answers to {len(sizes) + 1} packets")
        for answer in answers:
            if len(answer) > UDP_LIMIT:
                self._fault(first, len(packets), f"an answer of {len(answer)} bytes by UDP")
            code = answer[3] & 15
            self._tally.codes[dns.rcode.to_text(dns.rcode.Rcode(code))] += 1
            if code == _SERVFAIL:
                self._fault(first, len(packets), "an answer is SERVFAIL")
        if sizes:
            self._tally.largest = max(self._tally.largest, sum(map(len, answers)) / (sum(sizes) + len(self._last)))

    def _speak(self, number: int, packet: Packet) -> None:
        try:
            with_server = socket.create_connection(("127.0.0.1", self._server.port), ANSWER_SECONDS)
            with_server.sendall(packet.data)
        except TimeoutError:
            self._fault(number, 1, "no connection")
            return
        except OSError:
            return
        if not packet.closes:
            self._left_open.append(with_server)
            if len(self._left_open) > _OPEN_AT_ONCE:
                self._left_open.pop(0).close()
            return
        try:
            with_server.shutdown(socket.SHUT_WR)
            while with_server.recv(65536):
                pass
        except TimeoutError:
            self._fault(number, 1, f"a connection does not end within {ANSWER_SECONDS:g} s")
        except OSError:
            pass
        finally:
            with_server.close()

    def _fault(self, first: int, count: int, told: str) -> None:
        self._tally.faults.append(f"python -m tests.fuzz dns --seed {first} --count {count}\n  {told}")


def run(seed: int, count: int, *, most_faults: int = 20) -> Tally:
    """Send the packets of `count` seeds from `seed` on."""
    tally = Tally()
    with served() as server:
        client = _Client(server, tally)
        for first in range(seed, seed + count, _BATCH):
            size = min(_BATCH, seed + count - first)
            client.batch(first, [packet_of(number) for number in range(first, first + size)])
            tally.cases += size
            if tally.cases % _LOOK_EVERY < _BATCH:
                _look(server, tally)
            if len(tally.faults) >= most_faults or not server.alive:
                break
        _look(server, tally)
        _finish(server, tally, client, f"python -m tests.fuzz dns --seed {seed} --count {count}")
    return tally


def _look(server: ServedDns, tally: Tally) -> None:
    tally.memory.append(server.megabytes())
    sys.stderr.write(
        f"{tally.cases} packets, {tally.answers} answers, {dict(tally.codes)}, slowest batch {tally.slowest:.2f} s, "
        f"{tally.memory[-1]:.0f} MB, faults: {len(tally.faults)}\n"
    )


def _finish(server: ServedDns, tally: Tally, client: _Client, again: str) -> None:
    if not server.alive:
        tally.faults.append(f"the server is gone: {again}")
        return
    # Whoever is silent is given up, though the connection is not closed at the other end.
    deadline = time.monotonic() + IDLE_SECONDS * 2 + 1
    while server.connections() and time.monotonic() < deadline:
        time.sleep(0.05)
    if server.connections():
        tally.faults.append(f"{server.connections()} silent connections stay open: {again}")
    client.close()
    asked = dns.message.make_query(service_name(1), "A").to_wire()
    with socket.create_connection(("127.0.0.1", server.port), ANSWER_SECONDS) as good:
        good.sendall(struct.pack("!H", len(asked)) + asked)
        if not dns.message.from_wire(_framed(good)).answer:
            tally.faults.append(f"a good question by TCP has no answer: {again}")
    if server.log_text():
        tally.faults.append(f"the log tells of faults: {again}\n{server.log_text()[-4000:]}")
    if (growth := grown(tally.memory)) > GROWTH_MEGABYTES:
        tally.faults.append(f"the server grew by {growth:.0f} MB: {again}")


def _framed(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as stream:
        (length,) = struct.unpack("!H", stream.read(2))
        return stream.read(length)
