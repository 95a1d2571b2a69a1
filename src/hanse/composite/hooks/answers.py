"""Reads what a hook answered: a JSON object, or a sentence's end that says what it is instead."""

from __future__ import annotations

import json
from typing import Any

import orjson

from hanse.kube.manifest import Obj

_JSON_NAMES = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


class UnreadableAnswer(ValueError):
    """Why an answer is not the JSON object that it must be; the end of a sentence that begins with the hook."""


def read_answer(answer: bytes, *, strict: bool = False) -> Obj:
    """Return the object that a hook answered; raises UnreadableAnswer. `strict` refuses fields that are there twice."""
    try:
        read = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        found = "nothing" if not answer.strip() else f"what is not JSON: {error}"
        raise UnreadableAnswer(f"answered {found}") from error
    if not isinstance(read, dict):
        raise UnreadableAnswer(f"answered {_JSON_NAMES.get(type(read), 'null')} where a JSON object is wanted")
    if strict:
        json.loads(answer, object_pairs_hook=_without_twins)
    return read


def _without_twins(pairs: list[tuple[str, Any]]) -> Obj:
    found: Obj = {}
    for name, value in pairs:
        if name in found:
            raise UnreadableAnswer(f'answered an object in which the field "{name}" is there twice')
        found[name] = value
    return found


def cut(text: str, most: int) -> str:
    """Return a foreign text on one line and not longer than so many characters, to be quoted in a sentence."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
