"""Writes docs/reference/apiserver-differences.md from the table of known differences.

python -m tests.contract.page
"""

from __future__ import annotations

from pathlib import Path

from tests.contract.known_differences import KNOWN
from tests.contract.script import STEPS
from tests.contract.webhook_differences import KNOWN as WEBHOOKS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "apiserver-differences.md"
_HEAD = """# Where the embedded API server differs from kube-apiserver

The contract test plays one script of {count} requests against the embedded server and against a real kube-apiserver of
the version that it claims to be. Answers (status code, body, and the headers that clients look at) are equal after
uids, times, resource versions, generated names and addresses got common names. What still differs is listed here,
reason by reason, with the requests of the script in which it shows and the part of the answer that differs (`*` is
anything).
The test fails on a difference that is not listed, and on an entry that no longer differs.

Entries that begin with `hooks` and `review` are of a second script, in which both servers ask the same webhooks.

Written by `python -m tests.contract.page` from `tests/contract/known_differences.py` and `webhook_differences.py`; do
not edit.
"""


def page() -> str:
    """Return the page's text."""
    reasons: dict[str, list[str]] = {}
    for row in (*KNOWN, *WEBHOOKS):
        requests = ", ".join(f"`{name}`" for name in row.requests)
        paths = ", ".join(f"`{path}`" for path in row.paths)
        reasons.setdefault(row.reason, []).append(f"- {requests}: {paths}")
    parts = [f"\n## {reason}\n\n" + "\n".join(lines) + "\n" for reason, lines in reasons.items()]
    return _HEAD.format(count=len(STEPS)) + "".join(parts)


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
