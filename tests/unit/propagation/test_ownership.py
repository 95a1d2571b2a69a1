"""Fields that creation gave Hanse do not outlive their removal from the template."""

import pytest

from hanse.propagation.ownership import claimed, outlives_apply

MANIFEST = {
    "metadata": {"labels": {"app": "web"}, "finalizers": ["a"]},
    "spec": {"replicas": 3, "ports": [{"port": 80, "protocol": "TCP", "name": "http"}]},
}


def entry(fields, operation="Update", **more):
    return {"manager": "hanse", "operation": operation, "fieldsV1": fields, **more}


@pytest.mark.parametrize(
    ("fields", "stale"),
    [
        ({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:replicas": {}}}, False),
        ({"f:spec": {"f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}}}, False),
        ({"f:metadata": {"f:finalizers": {".": {}, 'v:"a"': {}}}}, False),
        ({"f:metadata": {"f:labels": {"f:gone": {}}}}, True),
        ({"f:spec": {"f:ports": {'k:{"port":81,"protocol":"TCP"}': {".": {}}}}}, True),
        ({"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:gone": {}}}}}, True),
        ({"f:metadata": {"f:finalizers": {'v:"b"': {}}}}, True),
    ],
)
def test_a_field_that_is_no_longer_rendered_is_noticed(fields, stale):
    assert outlives_apply([entry(fields)], MANIFEST) == stale


def test_others_fields_and_status_do_not_count():
    gone = {"f:metadata": {"f:labels": {"f:gone": {}}}}

    assert not outlives_apply([{**entry(gone), "manager": "kubectl"}], MANIFEST)
    assert not outlives_apply([entry(gone, subresource="status")], MANIFEST)
    assert not outlives_apply([entry(gone, operation="Apply")], MANIFEST)


def test_what_is_claimed_is_one_appliers_entry_beside_everybody_elses():
    theirs = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {}}}
    entries = [entry({"f:a": {}}), theirs, entry({"f:b": {}}, "Apply")]

    assert claimed(entries) == [theirs, entry({"f:a": {}, "f:b": {}}, "Apply")]
