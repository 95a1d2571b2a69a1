"""Acting as somebody else: the Impersonate headers, and the right to use them.

Two kinds of right exist. The constrained ones name the sort of user and the verb (`impersonate:user-info` on the user,
`impersonate-on:user-info:list` on what is asked); the classic one is `impersonate` on the user, for any request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from hanse.apiserver import status
from hanse.apiserver.authorization import Attributes, authorize, forbidden
from hanse.apiserver.core import Core
from hanse.apiserver.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    NODES,
    UNAUTHENTICATED,
    Identity,
    service_account_groups,
    split_service_account,
)
from hanse.kube.errors import ApiError

# Parts of a header that came more than once are joined by what no header can contain.
REPEATED = "\n"
_USER, _GROUP, _UID, _EXTRA = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"
_NODE_USER = "system:node:"


@dataclass(frozen=True, slots=True)
class _Mode:
    verb: str
    # The API group that users, groups and service accounts are checked in.
    group: str
    # What the verb on the request itself is prefixed with; "" where the request is not looked at.
    on: str = ""


_CLASSIC = _Mode("impersonate", "")


def act_as(core: Core, headers: Mapping[str, str], identity: Identity, asked: Attributes) -> Identity:
    """Return whom a request acts as: its sender unless headers name another; raises Forbidden or BadRequest."""
    wanted = _wanted(headers)
    if wanted is None:
        return identity
    refusals = []
    for mode in _modes(wanted):
        refused = _refused(core, identity, wanted, mode, asked)
        if refused is None:
            return _complete(wanted, mode)
        refusals.append(refused)
    raise refusals[0]


def _wanted(headers: Mapping[str, str]) -> Identity | None:
    if not any(name.startswith("impersonate-") for name in headers):
        return None
    groups = tuple(one for one in headers.get(_GROUP, "").split(REPEATED) if one)
    extra = {
        unquote(name.removeprefix(_EXTRA)): tuple(value.split(REPEATED))
        for name, value in headers.items()
        if name.startswith(_EXTRA)
    }
    wanted = Identity(headers.get(_USER, ""), groups, headers.get(_UID, ""), extra)
    if wanted.user:
        return wanted
    if not (groups or extra or wanted.uid):
        return None
    raise status.bad_request(f"requested {_go_literal(wanted)} without impersonating a user name")


def _modes(wanted: Identity) -> Iterator[_Mode]:
    only_user = not (wanted.groups or wanted.uid or wanted.extra)
    if wanted.user.startswith(_NODE_USER):
        kind = "arbitrary-node" if only_user else ""
    elif split_service_account(wanted.user):
        kind = "serviceaccount" if only_user else ""
    else:
        kind = "user-info"
    if kind:
        yield _Mode(f"impersonate:{kind}", _AUTHENTICATION, f"impersonate-on:{kind}:")
    yield _CLASSIC


def _refused(core: Core, identity: Identity, wanted: Identity, mode: _Mode, asked: Attributes) -> ApiError | None:
    for attributes in _questions(wanted, mode, asked):
        if not authorize(core, identity, attributes).allowed:
            return forbidden(identity, attributes)
    return None


def _questions(wanted: Identity, mode: _Mode, asked: Attributes) -> Iterator[Attributes]:
    if mode.on:
        yield replace(asked, verb=f"{mode.on}{asked.verb}")
    account = split_service_account(wanted.user)
    if account is not None:
        yield Attributes(mode.verb, mode.group, "serviceaccounts", "", *account)
    elif mode.on and wanted.user.startswith(_NODE_USER):
        yield Attributes(mode.verb, mode.group, "nodes", name=wanted.user.removeprefix(_NODE_USER))
    else:
        yield Attributes(mode.verb, mode.group, "users", name=wanted.user)
    if wanted.uid:
        yield Attributes(mode.verb, _AUTHENTICATION, "uids", name=wanted.uid)
    for group in wanted.groups:
        yield Attributes(mode.verb, mode.group, "groups", name=group)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes(mode.verb, _AUTHENTICATION, "userextras", key, name=value)


def _complete(wanted: Identity, mode: _Mode) -> Identity:
    groups = wanted.groups
    account = split_service_account(wanted.user)
    if account is not None and not groups:
        groups = service_account_groups(account[0])
    if mode.on and wanted.user.startswith(_NODE_USER):
        groups = (NODES,)
    if wanted.user == ANONYMOUS.user:
        groups = groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    elif UNAUTHENTICATED not in groups and AUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return replace(wanted, groups=groups)


def _go_literal(wanted: Identity) -> str:
    groups = "{" + ", ".join(f'"{one}"' for one in wanted.groups) + "}" if wanted.groups else "(nil)"
    listed = ", ".join(
        f'"{key}":[]string{{' + ", ".join(f'"{one}"' for one in values) + "}" for key, values in wanted.extra.items()
    )
    extra = "{" + listed + "}" if listed else "(nil)"
    return (
        f'&user.DefaultInfo{{Name:"", UID:"{wanted.uid}", Groups:[]string{groups}, Extra:map[string][]string{extra}}}'
    )
