"""Writes refusals.json: what a real server says to each mistake of the script, so that every test run holds us to it.

python -m tests.contract.refusals
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import orjson

from tests.contract.judging import address_of
from tests.contract.normalising import normalised
from tests.contract.playing import Played, play_all
from tests.contract.script.mistakes import STEPS
from tests.contract.shape import JUDGE
from tests.kubernetes.real import real_clusters

FILE = Path(__file__).with_name("refusals.json")


def refusals(played: Mapping[str, Played]) -> dict[str, str]:
    """Return the messages of refusals by request, without what differs between two runs."""
    return {name: str(normalised(one)["body"]["message"]) for name, one in played.items() if one.code >= 400}


def recorded() -> dict[str, str]:
    """Return what a real server said."""
    found: dict[str, str] = orjson.loads(FILE.read_bytes())
    return found


def main() -> None:
    """Ask a real server and write the file."""
    with real_clusters({"refusals": JUDGE}) as clusters:
        played = asyncio.run(play_all(address_of(clusters["refusals"]), STEPS))
    FILE.write_bytes(orjson.dumps(refusals(played), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
