"""The federation's name in a member's DNS; numbers are lines of the federation-v1 checklist."""

import pytest

from hanse.clusters.kube_dns import check_entry, with_entry, without_entry

OURS = "myfed=example.com"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("other=x.org", "other=x.org,myfed=example.com", id="102 beside another"),
        pytest.param("other=x.org,myfed=example.com", "other=x.org,myfed=example.com", id="102 again"),
        pytest.param("", OURS, id="the first"),
        pytest.param(" other=x.org , ", "other=x.org,myfed=example.com", id="blanks"),
        pytest.param("myfed=example.org", "myfed=example.org,myfed=example.com", id="another domain"),
    ],
)
def test_an_entry_is_added_once(before, after):
    assert with_entry(before, OURS) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("other=x.org,myfed=example.com", "other=x.org", id="103 beside another"),
        pytest.param(OURS, "", id="103 the last"),
        pytest.param("myfed=example.org", "myfed=example.org", id="103 only this one"),
        pytest.param("", "", id="none"),
    ],
)
def test_only_that_entry_is_removed(before, after):
    assert without_entry(before, OURS) == after


@pytest.mark.parametrize("text", ["", "myfed", "a.b=example.com", "x=", "=x", "X=example.com", "x=example.com."])
def test_an_entry_that_no_dns_would_take_is_refused(text):
    with pytest.raises(ValueError, match="must be NAME=DOMAIN"):
        check_entry(text)


def test_a_good_entry_is_taken_as_it_is():
    assert check_entry(OURS) == OURS
