"""Rollout blocks at the door: a host's API server refuses what a block forbids, by policies that Hanse installs there.

Shipper had a webhook for this, which somebody has to run and to reach. Here the API server itself decides, by
ValidatingAdmissionPolicies in CEL: what it refuses stays refused while Hanse is down, and nothing has to be up for
what it allows.

Nobody is exempt but the host's own loops that clear away what lost its owner or its namespace: that follows from a
request that was let through. Hanse itself is not: it runs with an administrator's name on many hosts, and an
administrator is to be stopped too. What it does for an application that overrides a block, it does under that override.

Whether an override names a block that exists cannot be seen from here, since a policy sees one block at a time. It
compares with a list of all blocks (`controller`), which a new block joins a moment later.
"""

from __future__ import annotations

from hanse.api.shipper.kinds import (
    APPLICATIONS,
    GLOBAL_BLOCKS_NAMESPACE,
    OVERRIDE_ANNOTATION,
    RELEASES,
    ROLLOUT_BLOCKS,
)
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.log import Log
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.rollouts.blocks.controller import LEDGER, LEDGER_KEY

log = Log("hanse")

BLOCKS_POLICY = "rollout-blocks.hanse.dev"
OVERRIDES_POLICY = "rollout-block-overrides.hanse.dev"
GLOBAL_BINDING = "rollout-blocks-global.hanse.dev"
_GROUP, _VERSION = "admissionregistration.k8s.io", "v1"
_API_VERSION = f"{_GROUP}/{_VERSION}"
_POLICY, _BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_LOOPS = (
    "system:apiserver",
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
)
_NOT_A_LOOP = {
    "name": "not-by-the-hosts-own-loops",
    "expression": f"!(request.userInfo.username in [{', '.join(repr(name) for name in _LOOPS)}])",
}


def _said(holder: str) -> str:
    """Return the expression for what an object's annotation says, '' where it says nothing."""
    return f"{holder}.metadata.?annotations[?'{OVERRIDE_ANNOTATION}'].orValue('')"


def _overrides(holder: str) -> str:
    """Return the expression for the blocks that an object overrides."""
    return f"{_said(holder)}.split(',').map(name, name.trim()).filter(name, name != '')"


def policies() -> tuple[Obj, ...]:
    """Return the policies and what puts them into force, in the order in which they are to be applied."""
    subject = "(request.operation == 'DELETE' ? oldObject : object)"
    block = "params.metadata.namespace + '/' + params.metadata.name"
    blocks = _policy(
        BLOCKS_POLICY,
        {"apiVersion": ROLLOUT_BLOCKS.api_version, "kind": ROLLOUT_BLOCKS.kind},
        ["CREATE", "UPDATE", "DELETE"],
        [
            _NOT_A_LOOP,
            {
                "name": "more-than-metadata",
                "expression": "request.operation != 'UPDATE' || object.spec != oldObject.spec",
            },
        ],
        [
            {
                "expression": f"({block}) in {_overrides(subject)}",
                "messageExpression": f"""'rollout block(s) with name(s) "' + {block} + '" exist'""",
                "reason": "Forbidden",
            }
        ],
        [],
    )
    # One by one, since a server estimates what an expression may cost by the sizes of what it looks at.
    variables = [
        {"name": "said", "expression": _said("object")},
        {
            "name": "overrides",
            "expression": "variables.said.split(',').map(name, name.trim()).filter(name, name != '')",
        },
        {"name": "listed", "expression": f"params.?data[?'{LEDGER_KEY}'].orValue('').split(',')"},
        {
            "name": "unknown",
            "expression": "variables.overrides.filter(name, !(name in variables.listed)).join(',')",
        },
    ]
    overrides = _policy(
        OVERRIDES_POLICY,
        {"apiVersion": "v1", "kind": "ConfigMap"},
        ["CREATE", "UPDATE"],
        [
            _NOT_A_LOOP,
            {
                "name": "says-something-new",
                "expression": "oldObject == null || object.spec != oldObject.spec || "
                f"{_said('object')} != {_said('oldObject')}",
            },
        ],
        [
            {
                "expression": "variables.unknown == ''",
                "messageExpression": """'rollout block with name "' + variables.unknown + '" does not exist'""",
                "reason": "Forbidden",
            }
        ],
        variables,
    )
    own = {"selector": {}, "parameterNotFoundAction": "Allow"}
    everywhere = {**own, "namespace": GLOBAL_BLOCKS_NAMESPACE}
    ledger = {"name": LEDGER.name, "namespace": LEDGER.namespace, "parameterNotFoundAction": "Allow"}
    return (
        blocks,
        overrides,
        _binding(BLOCKS_POLICY, BLOCKS_POLICY, own),
        _binding(GLOBAL_BINDING, BLOCKS_POLICY, everywhere),
        _binding(OVERRIDES_POLICY, OVERRIDES_POLICY, ledger),
    )


async def install_block_admission(host: Client) -> bool:
    """Have a host refuse what rollout blocks forbid; False where it does not serve policies or does not let us.

    The controllers respect blocks in any case: without this a user's change is taken, and acted on once the block is
    gone.
    """
    try:
        served = {kind: await _resource(host, kind) for kind in (_POLICY, _BINDING)}
        for manifest in policies():
            await host.apply(served[manifest["kind"]], manifest)
    except NotFound:
        return False
    except Forbidden as error:
        log.warning("Rollout blocks are not enforced by the host", why=str(error))
        return False
    return True


async def _resource(host: Client, kind: str) -> Resource:
    return await host.discovery.resource(_GROUP, _VERSION, kind)


def _policy(
    name: str, params: Obj, operations: list[str], conditions: list[Obj], validations: list[Obj], variables: list[Obj]
) -> Obj:
    rule = {
        "apiGroups": [APPLICATIONS.group],
        "apiVersions": [APPLICATIONS.version],
        "operations": operations,
        "resources": [APPLICATIONS.plural, RELEASES.plural],
    }
    spec: Obj = {
        "failurePolicy": "Fail",
        "paramKind": params,
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": conditions,
        "validations": validations,
    }
    if variables:
        spec["variables"] = variables
    return {"apiVersion": _API_VERSION, "kind": _POLICY, "metadata": {"name": name}, "spec": spec}


def _binding(name: str, policy: str, reference: Obj) -> Obj:
    return {
        "apiVersion": _API_VERSION,
        "kind": _BINDING,
        "metadata": {"name": name},
        "spec": {"policyName": policy, "paramRef": reference, "validationActions": ["Deny"]},
    }
