"""A plan for people: one diff for all clusters with the same change."""

import click

from hanse.cli.changes import diff, summary, told
from hanse.cli.outlook import Outlook
from hanse.propagation.foresight import ClusterChange, Effect


def config(color):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"color": color}}


def secret(value):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": value, "same": "AAA="}}


def changed(cluster, now, then):
    return ClusterChange(cluster, Effect.CHANGED, now, then)


def test_clusters_with_the_same_change_share_a_diff():
    blue, red, green = config("blue"), config("red"), config("green")
    outlook = Outlook("ConfigMap c", (changed("a", blue, red), changed("b", blue, green), changed("c", blue, red)))

    text = click.unstyle(told([outlook]))

    assert "ConfigMap c changed in a, c\n" in text
    assert "ConfigMap c changed in b\n" in text
    assert text.count("-  color: blue\n+  color: red\n") == 1
    assert text.endswith("3 changed over all clusters.\n")


def test_a_removal_says_why_and_shows_no_diff():
    outlook = Outlook("ConfigMap c", (ClusterChange("a", Effect.REMOVED, config("blue"), None, "it is tainted"),))

    assert told([outlook]) == "ConfigMap c removed in a (it is tainted)\n\n1 removed over all clusters.\n"


def test_what_changes_in_a_secret_is_shown_and_its_values_are_not():
    text = diff(changed("a", secret("b25l"), secret("dHdv")))

    assert "-  key: (hidden, before)\n+  key: (hidden, after)" in text
    assert "   same: (hidden)" in text
    assert not any(value in text for value in ("b25l", "dHdv", "AAA="))


def test_the_last_line_counts():
    trouble = Outlook("Pod p", trouble="pods are not federated")

    assert summary([Outlook("ConfigMap c")]) == "Nothing would change."
    assert summary([trouble, trouble]) == "Nothing would change. Of 2 objects not everything can be had."
