"""What is known to differ where webhooks are asked, with its reason."""

from tests.contract.known import Known, row

KNOWN: tuple[Known, ...] = (
    row(
        "hooks/refused: garbled",
        ("$.body.message", "$.body.details.causes[0].message"),
        "Go's parser errors are not imitated word for word",
    ),
    row(
        "review *: /patch",
        ("$.body.request.object.metadata.uid", "$.body.request.object.metadata.creationTimestamp"),
        "A replacement has the uid and time of what it replaces already when mutators see it",
    ),
)
