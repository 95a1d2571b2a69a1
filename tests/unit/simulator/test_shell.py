"""The small shell in simulated containers."""

import pytest

from hanse.simulator.nodes.shell import Shell

POD = {
    "metadata": {"name": "web-1", "namespace": "shop"},
    "spec": {"nodeName": "n1", "containers": [{"name": "web", "env": [{"name": "COLOUR", "value": "blue"}]}]},
    "status": {"podIP": "10.1.0.7"},
}


class Screen:
    """A terminal whose input is given and whose output is kept."""

    def __init__(self, *typed, tty=False):
        self._typed = list(typed)
        self.tty = tty
        self.out = b""
        self.err = b""

    async def read(self):
        return self._typed.pop(0) if self._typed else b""

    async def write(self, data):
        self.out += data

    async def write_error(self, data):
        self.err += data


def shell(slept=None):
    async def sleep(seconds):
        if slept is not None:
            slept.append(seconds)

    return Shell(POD, "web", now=lambda: 0.0, sleep=sleep)


@pytest.mark.parametrize(
    ("command", "code", "out", "err"),
    [
        (("hostname",), 0, b"web-1\n", b""),
        (("echo", "$COLOUR", "on", "${NODE_NAME}"), 0, b"blue on n1\n", b""),
        (("date",), 0, b"1970-01-01T00:00:00Z\n", b""),
        (("cat", "/etc/hostname"), 0, b"web-1\n", b""),
        (("true",), 0, b"", b""),
        (("false",), 1, b"", b""),
        (("vi",), 127, b"", b"sh: vi: not found\n"),
        (("sh", "-c", "echo a; false; echo b && exit 3; echo c"), 3, b"a\nb\n", b""),
        (("sh", "-c", "echo 'open"), 2, b"", b"sh: syntax error: unterminated quoted string\n"),
    ],
)
async def test_a_command_prints_and_ends_as_in_a_real_container(command, code, out, err):
    screen = Screen()
    assert await shell().run(command, screen) == code
    assert (screen.out, screen.err) == (out, err)


async def test_the_environment_has_what_the_pod_gives():
    screen = Screen()
    assert await shell().run(("env",), screen) == 0
    assert {b"COLOUR=blue", b"HOSTNAME=web-1", b"POD_IP=10.1.0.7"} <= set(screen.out.splitlines())


async def test_sleeping_takes_the_time_of_the_cluster():
    slept = []
    assert await shell(slept).run(("sleep", "5"), Screen()) == 0
    assert slept == [5.0]


async def test_a_terminal_is_talked_to_until_it_leaves():
    screen = Screen(b"host", b"name\r", b"exit 4\r", tty=True)
    assert await shell().run(("sh",), screen) == 4
    assert b"web-1\r\n" in screen.out
    assert screen.out.startswith(b"/ # ")


async def test_what_is_piped_in_is_run_line_by_line_and_cat_gives_it_back():
    screen = Screen(b"echo one\necho two\n")
    assert await shell().run(("sh",), screen) == 0
    assert screen.out == b"one\ntwo\n"
    echo = Screen(b"abc", b"def")
    assert await shell().run(("cat",), echo) == 0
    assert echo.out == b"abcdef"
