"""What a webhook's HTTP status means."""

import pytest

from hanse.composite.hooks.calling import HookBusy
from hanse.composite.hooks.etags import Tagged
from hanse.composite.hooks.statuses import BadStatus, HttpAnswer, counting_body, wait_seconds

NOW = 1_700_000_000.25  # Tue, 14 Nov 2023 22:13:20.25 GMT
SENT = Tagged('"one"', b'{"known": true}', None)


def test_the_body_of_200_counts_also_when_a_tag_was_sent():
    answer = HttpAnswer(200, {"etag": '"two"'}, b"{}")

    assert counting_body(answer, None, NOW) == b"{}"
    assert counting_body(answer, SENT, NOW) == b"{}"


@pytest.mark.parametrize("status", [304, 412])
def test_unchanged_counts_as_the_answer_whose_tag_was_sent_and_only_then(status):
    assert counting_body(HttpAnswer(status), SENT, NOW) == SENT.body
    with pytest.raises(BadStatus, match=f"answered with status {status}, though no earlier answer was named"):
        counting_body(HttpAnswer(status), None, NOW)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (HttpAnswer(500), "answered with status 500"),
        (HttpAnswer(500, {}, b"{}"), "answered with status 500: {}"),
        (HttpAnswer(503, {}, b"over\nloaded\xff"), "answered with status 503: over loaded�"),
        (HttpAnswer(204), "answered with status 204"),
        (HttpAnswer(201, {}, b"{}"), "answered with status 201: {}"),
        (HttpAnswer(404, {}, b"x" * 9000), f"answered with status 404: {'x' * 199}…"),
        (HttpAnswer(307), "answered with status 307, and redirects are not followed: give the final URL"),
    ],
)
def test_every_other_status_is_no_answer_whatever_its_body_says(answer, sentence):
    with pytest.raises(BadStatus) as refused:
        counting_body(answer, SENT, NOW)

    assert str(refused.value) == sentence


def test_429_asks_for_patience():
    with pytest.raises(HookBusy) as busy:
        counting_body(HttpAnswer(429, {"retry-after": "10"}), None, NOW)

    assert busy.value.seconds == 10


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("10", 10),
        (" 7 ", 7),
        ("0", 0),
        ("", 0),
        ("soon", 0),
        ("-5", 0),
        ("1.5", 0),
        ("²", 0),
        # A date is rounded up.
        ("Tue, 14 Nov 2023 22:13:30 GMT", 10),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0),
        ("Tue, 14 Nov 99999 22:13:00 GMT", 0),
        # A wait without end would be one after which nobody looks.
        ("9" * 400, 86400),
        ("Tue, 14 Nov 2090 22:13:00 GMT", 86400),
    ],
)
def test_retry_after_is_seconds_or_a_date(header, seconds):
    assert wait_seconds(header, NOW) == seconds
