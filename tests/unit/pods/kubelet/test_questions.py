"""What API servers ask kubelets, put into the words of another API server."""

import pytest

from hanse.kube.upgrades import BadHead, parse_head
from hanse.pods.kubelet.authorization import Caller, caller_of
from hanse.pods.kubelet.questions import read_question

ASKED = [
    ("/containerLogs/ns/p/c", "log", (("container", "c"),)),
    ("/containerLogs/ns/p/c?tailLines=0", "log", (("tailLines", "0"), ("container", "c"))),
    ("/containerLogs/ns/p/c?follow=true&x=y", "log", (("follow", "true"), ("container", "c"))),
    (
        "/exec/ns/p/c?command=sh&command=-c&command=a%20b%26c&input=1&tty=1&output=1",
        "exec",
        (
            ("stdin", "true"),
            ("stdout", "true"),
            ("tty", "true"),
            ("container", "c"),
            ("command", "sh"),
            ("command", "-c"),
            ("command", "a b&c"),
        ),
    ),
    ("/attach/ns/p/c?error=1&input=0", "attach", (("stderr", "true"), ("container", "c"))),
    ("/portForward/ns/p?port=80,8080", "portforward", (("ports", "80"), ("ports", "8080"))),
    ("/portForward/ns/p", "portforward", ()),
]


@pytest.mark.parametrize(("target", "subresource", "query"), ASKED, ids=[each[0] for each in ASKED])
def test_a_question_is_put_into_an_api_servers_words(target, subresource, query):
    question = read_question(target)

    assert (question.subresource, question.namespace, question.pod, question.query) == (subresource, "ns", "p", query)
    assert question.path("there", "q") == f"/api/v1/namespaces/there/pods/q/{subresource}"


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/pods",
        "/metrics/cadvisor",
        "/containerLogs/ns/p",
        "/exec/ns/p/c/more",
        "/exec/ns/..%2Fsecrets/c",
        "/exec/ns/p%3Fx/c",
        "/exec//p/c",
        "/exec/NS/p/c",
        "/portForward/ns/" + "a" * 300,
    ],
)
def test_nothing_else_is_answered(target):
    assert read_question(target) is None


def test_a_caller_is_whom_the_certificate_names():
    subject = ((("organizationName", "a"),), (("organizationName", "b"),), (("commonName", "jane"),))

    assert caller_of({"subject": subject}) == Caller("jane", ("a", "b"))
    assert caller_of({"subject": subject[:1]}) is caller_of({}) is caller_of(None) is None


def test_headers_that_are_given_twice_are_one_list():
    head = parse_head(b"POST /x HTTP/1.1\r\nX-A: one\r\nx-a:  two \r\nHost: h\r\n\r\n")

    assert (head.line, head.headers) == (("POST", "/x", "HTTP/1.1"), {"x-a": "one, two", "host": "h"})


@pytest.mark.parametrize("raw", [b"GET / HTTP/1.1\r\nnonsense\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n"])
def test_a_head_that_is_none_is_refused(raw):
    with pytest.raises(BadHead):
        parse_head(raw)
