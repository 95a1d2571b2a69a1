"""Ranges of chart versions, read as the library of Shipper reads them."""

from itertools import pairwise

import pytest

from hanse.rollouts.sources.versions import RangeProblem, highest, is_exact, parse_range, parse_version

ADMITTED = """
*                               | 1.2.3           | yes
*                               | 1.2.3-rc.1      | no
                                | 0.0.1           | yes
x                               | 4.5.6           | yes
0.0.1                           | 0.0.1           | yes
0.0.1                           | 0.0.2           | no
v0.0.1                          | 0.0.1           | yes
0.0.1                           | v0.0.1          | yes
1.2.3                           | 1.2.3+build.7   | yes
1.2.3+one                       | 1.2.3+two       | yes
=1.2.3                          | 1.2.3           | yes
= 2.0                           | 2.0.0           | yes
= 2.0                           | 2.0.1           | no
1.2                             | 1.2.0           | yes
1.2                             | 1.2.5           | no
1                               | 1.9.9           | yes
1                               | 2.0.0           | no
1.x                             | 1.4.7           | yes
1.X.X                           | 1.4.7           | yes
1.x                             | 2.0.0           | no
1.2.x                           | 1.2.9           | yes
1.2.*                           | 1.3.0           | no
0.x.x                           | 1.2.3           | no
0.0.x                           | 0.0.9           | yes
0.0.x                           | 0.1.0           | no
!=1.2.3                         | 1.2.4           | yes
!=1.2.3                         | 1.2.3           | no
!=1.2.3                         | 1.2.4-rc.1      | yes
!=4.x                           | 4.1.0           | no
!=4.x                           | 5.1.0           | yes
!=4.x                           | 5.1.0-rc.1      | no
!=4.2.x                         | 4.2.3           | no
!=4.2.x                         | 4.3.0           | yes
>1.1                            | 4.1.0           | yes
>1.1                            | 1.1.0           | no
>1.1                            | 1.1.1           | yes
> 3                             | 3.0.0           | no
> 3                             | 3.0.1           | yes
>0                              | 0.0.1-alpha     | yes
>=0                             | 0.0.0           | yes
>0                              | 0.0.0           | no
>=1.1                           | 1.1.0           | yes
>=1.1                           | 0.9.9           | no
>=1.1                           | 4.1.0-beta      | no
=>1.1                           | 1.1.0           | yes
>=1.1.0-0                       | 1.1.0-beta      | yes
>=1.1.0-0                       | 1.0.9           | no
<1                              | 1.9.9           | yes
<1                              | 2.0.0           | no
<1.1                            | 0.1.0           | yes
<1.1                            | 1.1.0           | no
<1.1                            | 0.1.0-alpha     | no
<1.x                            | 1.1.1           | yes
<1.x                            | 2.1.1           | no
<1.1.x                          | 1.1.500         | yes
<1.1.x                          | 1.2.1           | no
<=1.1                           | 1.1.0           | yes
<=1.1                           | 1.1.1           | no
=<1.1                           | 1.1.0           | yes
<=1.1-a                         | 0.1.0-alpha     | yes
<=1.x                           | 1.9.0           | yes
<=2.x                           | 3.1.0           | no
>1.1, <2                        | 1.1.1           | yes
>1.1, <3                        | 4.3.2           | no
>=1.1,<2,!=1.2.3                | 1.2.3           | no
>=1.1, <2, !=1.2.3 || > 3       | 3.1.2           | yes
>=1.1, <2, !=1.2.3 || >= 3      | 3.0.0           | yes
>=1.1, <2, !=1.2.3 || > 3       | 3.0.0           | no
1.1 - 2                         | 1.1.1           | yes
1.1 - 2                         | 1.0.9           | no
1.1 - 2.0.0                     | 2.0.0           | yes
1.1 - 2.0.0                     | 2.0.1           | no
1.0.0 - 1.5.0 || 3.0.0 - 3.1.0  | 3.0.5           | yes
1.0.0 - 1.5.0 || 3.0.0 - 3.1.0  | 2.0.0           | no
1.1-3                           | 4.3.2           | no
^1.1                            | 1.9.1           | yes
^1.1                            | 1.0.9           | no
^1.1                            | 2.0.0           | no
^1.x                            | 1.1.1-beta1     | no
^1.1.2-alpha                    | 1.2.1-beta1     | yes
^0.2.3                          | 0.9.0           | yes
^0.0.0                          | 1.2.3           | no
^*                              | 0.4.0           | yes
~0.0.0                          | 0.0.1           | yes
~0.0.0                          | 1.2.3           | yes
~*                              | 2.1.1           | yes
~1                              | 1.3.5           | yes
~1                              | 2.1.1           | no
~1.x                            | 1.3.5           | yes
~1.1                            | 1.1.9           | yes
~1.1                            | 1.2.3           | no
~1.1                            | 1.1.1-alpha     | no
~1.1-alpha                      | 1.1.1-beta      | yes
~1.1.1-beta                     | 1.1.1-alpha     | no
~1.1.1-beta                     | 1.1.1           | yes
~1.2.3                          | 1.2.5           | yes
~1.2.3                          | 1.2.2           | no
~>1.2.3                         | 1.3.0           | no
1.2.3-rc.1                      | 1.2.3-rc.1      | yes
1.2.3-rc.1                      | 1.2.3           | no
"""


@pytest.mark.parametrize("row", [row for row in ADMITTED.splitlines() if row.strip()])
def test_a_range_admits_what_shipper_admits(row):
    wanted, version, answer = (cell.strip() for cell in row.rsplit("|", 2))
    assert parse_range(wanted).admits(parse_version(version)) is (answer == "yes")


@pytest.mark.parametrize(
    "text", ["foo", ">= bar", "1.2.3 4.5.6", ">= 1.0,", "||", "1.2.3.4", "~^1", "> > 1", "1.2.3-", "1..2", "latest"]
)
def test_what_is_no_range_is_refused(text):
    with pytest.raises(RangeProblem, match="improper constraint"):
        parse_range(text)


def test_a_number_beyond_all_versions_is_refused():
    with pytest.raises(RangeProblem):
        parse_range(f"{2**63}.0.0")


@pytest.mark.parametrize("text", ["", "latest", "1.2.3.4", "1.x", "1.2.3_4", f"{2**63}.0.0", " 1.2.3"])
def test_what_is_no_version_is_none(text):
    assert parse_version(text) is None


def test_versions_are_ordered_as_semver_says():
    order = ["0.9.9", "1.0.0-1", "1.0.0-2", "1.0.0-11", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.10"]
    ranks = [parse_version(text).rank for text in order]
    assert all(lower < higher for lower, higher in pairwise(ranks))


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("", "1.10.0"),
        ("~1.2", "1.2.10"),
        ("<1.0", "0.9"),
        ("<1", "1.10.0"),
        (">=2.0.0-0", "2.0.0-rc.2"),
        ("^3", None),
        ("!=1.10.0, 1.x", "1.2.10"),
    ],
)
def test_the_highest_admitted_version_wins_and_what_is_no_version_is_passed_over(wanted, chosen):
    offered = ["1.2.9", "1.2.10", "nightly", "1.10.0", "0.9", "2.0.0-rc.1", "2.0.0-rc.2"]
    assert highest(offered, parse_range(wanted)) == chosen


@pytest.mark.parametrize(
    ("text", "exact"), [("1.2.3", True), ("1.2.3-rc.1+b", True), ("1.2", False), ("~1.2.3", False), ("", False)]
)
def test_only_a_whole_version_is_exact(text, exact):
    assert is_exact(text) is exact


@pytest.mark.parametrize("text", ["9" * 5000 + ".0.0", "1.0.0-" + "9" * 5000])
def test_numbers_that_python_itself_would_not_read_make_no_version(text):
    assert parse_version(text) is None
