"""What counts as a hook's answer, and how foreign texts are quoted."""

import pytest

from hanse.composite.hooks.answers import UnreadableAnswer, cut, read_answer


def test_an_object_is_an_answer():
    assert read_answer(b'{"children": [], "status": {"n": 1}}') == {"children": [], "status": {"n": 1}}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "answered nothing"),
        (b" \n", "answered nothing"),
        (b"null", "answered null where a JSON object is wanted"),
        (b"[]", "answered a list where a JSON object is wanted"),
        (b'"{}"', "answered a string where a JSON object is wanted"),
        (b"true", "answered a boolean where a JSON object is wanted"),
        (b"1.5", "answered a number where a JSON object is wanted"),
        (b'{"children": [', "answered what is not JSON: "),
        (b'{"a": NaN}', "answered what is not JSON: "),
        (b"\x1f\x8b\x08", "answered what is not JSON: "),
        (b"[" * 5000, "answered what is not JSON: "),
    ],
)
def test_whatever_else_comes_is_no_answer(answer, sentence):
    with pytest.raises(UnreadableAnswer) as refused:
        read_answer(answer)

    assert str(refused.value).startswith(sentence)


def test_a_field_that_is_there_twice_is_refused_by_the_strict():
    twice = b'{"status": {"n": 1, "n": 2}}'

    assert read_answer(twice) == {"status": {"n": 2}}
    with pytest.raises(UnreadableAnswer, match='the field "n" is there twice'):
        read_answer(twice, strict=True)
    assert read_answer(b'{"a": {"n": 1}, "b": {"n": 1}}', strict=True) == {"a": {"n": 1}, "b": {"n": 1}}


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("one\n two\t\x1b[31m three", "one two [31m three"), ("x" * 30, "x" * 19 + "…"), ("", ""), ("  ", "")],
)
def test_foreign_text_is_quoted_on_one_line_and_cut(text, quoted):
    assert cut(text, 20) == quoted
