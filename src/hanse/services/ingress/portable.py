"""Hanse's own global load balancer: an object on the host, which every `hanse balancer run` follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, dig, name_of, namespace_of
from hanse.kube.transport import Unreachable
from hanse.services.ingress.balancer import Refused, Standing, Tell, Wish, removal_problem
from hanse.services.ingress.copies import wait_addresses
from hanse.services.ingress.entrance import Reach, entrance_for, entrance_manifest, parse_entrance


class PortableBalancer:
    """Entrances on the host of a federation, without a cloud; `reach` is for those that are made or changed."""

    def __init__(self, host: Client, reach: Reach) -> None:
        self._host = host
        self._reach = reach

    async def ensure(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Wait for the addresses of the clusters' ingress controllers, and write them down with the rules."""
        found = {
            name: await wait_addresses(wish.ingress, client, name, tell=tell)
            for name, client in sorted(wish.clusters.items())
        }
        wanted = entrance_manifest(entrance_for(wish.name, wish.ingress, found, self._reach))
        present = await self._named(wish.name)
        tell("Ensuring entrance")
        try:
            if present is None:
                tell(f"Creating entrance {wish.name}")
                await self._host.create(GLOBAL_INGRESSES, wanted)
                tell(f"Entrance {wish.name} created successfully")
            elif namespace_of(present) != namespace_of(wanted):
                raise Refused(
                    f"load balancer {wish.name} is there already, for an Ingress in namespace {namespace_of(present)}"
                )
            elif present["spec"] == wanted["spec"]:
                tell("Desired entrance exists already")
            elif not force:
                raise Refused(f"will not overwrite entrance {wish.name} without --force")
            else:
                tell(f"Updating existing entrance {wish.name} to match the desired state")
                await self._host.update(GLOBAL_INGRESSES, {**present, "spec": wanted["spec"]})
        except (ApiError, Unreachable) as error:
            raise Refused(str(error)) from error

    async def delete(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Take the entrance away."""
        present = await self._named(wish.name)
        if present is None:
            tell(f"Entrance {wish.name} does not exist. Nothing to delete")
            return
        tell(f"Deleting entrance {wish.name}")
        try:
            await self._host.delete(GLOBAL_INGRESSES, wish.name, namespace_of(present))
        except NotFound:
            return
        except (ApiError, Unreachable) as error:
            raise Refused(str(error)) from error

    async def remove_clusters(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Lead nobody to these clusters any more."""
        present = await self._named(wish.name)
        if present is None:
            raise Refused(f"Load balancer {wish.name} does not exist")
        entrance = parse_entrance(present)
        if problem := removal_problem(entrance.standing, wish.clusters, force=force):
            raise Refused(problem)
        kept = tuple(each for each in entrance.clusters if each.cluster not in wish.clusters)
        tell(f"Removing clusters {' '.join(sorted(wish.clusters))} from entrance {wish.name}")
        spec = entrance_manifest(replace(entrance, clusters=kept))["spec"]
        try:
            await self._host.update(GLOBAL_INGRESSES, {**present, "spec": spec})
        except (ApiError, Unreachable) as error:
            raise Refused(str(error)) from error

    async def find(self, name: str) -> Standing | None:
        """Return how an entrance stands."""
        present = await self._named(name)
        return None if present is None else parse_entrance(present).standing

    async def list(self) -> Sequence[Standing]:
        """Return all entrances of the federation."""
        listed = sorted(await self._listed(), key=name_of)
        return [parse_entrance(obj).standing for obj in listed]

    async def _named(self, name: str) -> Obj | None:
        return next((obj for obj in await self._listed() if name_of(obj) == name and dig(obj, "spec")), None)

    async def _listed(self) -> Sequence[Obj]:
        try:
            return (await self._host.list(GLOBAL_INGRESSES)).items
        except NotFound as error:
            raise Refused("the host does not serve GlobalIngresses; start its control plane once") from error
        except (ApiError, Unreachable) as error:
            raise Refused(str(error)) from error
