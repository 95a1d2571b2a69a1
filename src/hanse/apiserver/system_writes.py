"""Writes that the server's own loops make, through the same verbs as everybody's."""

from __future__ import annotations

from hanse.apiserver.core import Call, Core
from hanse.apiserver.identity import SERVER
from hanse.apiserver.registry import Served
from hanse.apiserver.requests import Options, ResourcePath
from hanse.apiserver.verbs.delete import DeleteOptions, delete_object
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.transport import Request


def server_call(core: Core, served: Served, namespace: str, name: str, verb: str) -> Call:
    """Return a call in the server's own name."""
    resource = served.resource
    request = Request("POST", resource.path(namespace, name), headers={"user-agent": "kube-apiserver/"})
    path = ResourcePath(resource.group, resource.version, namespace, resource.plural, name)
    return Call(core, SERVER, request, path, Options(()), served, verb)


async def delete_as_server(
    core: Core, served: Served, namespace: str, name: str, *, uid: str = "", propagation: str = ""
) -> None:
    """Ask for an object's deletion; one that is gone, or is another by now, is left alone."""
    options = DeleteOptions(propagation=propagation, uid=uid)
    try:
        await delete_object(server_call(core, served, namespace, name, "delete"), options)
    except (NotFound, Conflict):
        return
