"""Keeping authors stamped on all that is federated, while kinds are enabled and disabled.

Stamped is every kind of source of every door; and in KubeFed's and Shipper's groups whatever there is, since
placements, overrides, preferences and applications say where others' objects go, and a type may be enabled after the
first objects of it were written. So is every kind of parents of a CompositeController: whoever writes one says by it
in which clusters its children are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hanse.api.federated_kinds import FEDERATED_KINDS, parse_federated_kind
from hanse.api.kubefed.forms import FORMS
from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.api.shipper.kinds import GROUP as SHIPPER_GROUP
from hanse.cli.doors import KIND_INPUTS, all_doors, plain_kinds, read_inputs
from hanse.clusters.access_admission import install, install_for_guests, wait_installed
from hanse.federated.knowledge import TYPE_CONFIG_KINDS
from hanse.federated.types import Types, needs_config
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import Forbidden
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource
from hanse.native.guest import FEDERATE_LABEL, GUEST_KINDS
from hanse.native.holding import held_at_birth, held_by_default
from hanse.native.kinds import DEFAULT_KINDS

log = Log("hanse")

STAMPED_GROUPS = tuple(
    dict.fromkeys((*(form.group for form in FORMS), *(f"scheduling.{form.family}" for form in FORMS), SHIPPER_GROUP))
)


def held_types(configs: Sequence[Obj] = ()) -> list[Resource]:
    """Return the federated kinds of which the engine surely takes up every new object in a namespace."""
    return [
        each.source
        for each in Types(configs).by_source.values()
        if each.propagates
        and not each.leaving
        and not each.is_namespace
        and each.source.namespaced
        and not needs_config(each.source)
    ]


async def stamp_authors(host: Client, *, plain_objects: bool = True) -> bool:
    """Have whatever is federated here stamped with its author and held for the engine; False where that cannot be.

    Without `plain_objects` those of the host are its own, and are left as they are, but for namespaces with the label.
    """
    # Kinds may have come since somebody asked last.
    host.discovery.forget()
    found = await read_inputs(host, KIND_INPUTS, all_doors())
    configs = [obj for kind in TYPE_CONFIG_KINDS for obj in found.inputs[kind].values()]
    kinds, held = list(found.doors.resources), held_types(configs)
    if plain_objects:
        disabled = [
            each.resource
            for each in map(parse_federated_kind, found.inputs[FEDERATED_KINDS].values())
            if not each.enabled
        ]
        held += held_by_default(disabled)
    plain = plain_kinds(found.doors)
    kinds += [kind for kind in await _parents(host) if kind not in kinds]
    try:
        for refusal in found.refused.values():
            raise refusal
        if not plain_objects:
            kinds = [kind for kind in kinds if kind not in plain]
            guests = [kind for kind in plain if kind in GUEST_KINDS or kind not in DEFAULT_KINDS]
            await install_for_guests(host, guests, {FEDERATE_LABEL: "true"})
        return await install(host, kinds, held_at_birth(held), STAMPED_GROUPS)
    except Forbidden as error:
        log.warning("Whose objects these are cannot be stamped on them", why=str(error))
        return False


async def _parents(host: Client) -> list[Resource]:
    """Return the kinds of parents of a host's CompositeControllers, as far as they are served."""
    served = await host.discovery.resources()
    if COMPOSITE_CONTROLLERS not in served:
        return []
    specs = [dig(obj, "spec", "parentResource", default={}) for obj in (await host.list(COMPOSITE_CONTROLLERS)).items]
    named = {(spec.get("apiVersion"), spec.get("resource")) for spec in specs}
    return [kind for kind in served if (kind.api_version, kind.plural) in named]


class Authorship:
    """Follows the enabled kinds; does nothing on a host where authors are not stamped."""

    def __init__(
        self, host: Client, *, federated_types: bool = False, plain_objects: bool = True, composites: bool = False
    ) -> None:
        """With `federated_types` the host serves the kind that enables them, with `composites` lambda controllers."""
        self._host = host
        self._plain_objects = plain_objects
        followed = KIND_INPUTS if federated_types else (FEDERATED_KINDS,)
        self._kinds = [Cache(host, kind) for kind in (*followed, *((COMPOSITE_CONTROLLERS,) if composites else ()))]
        self._controller: Controller[Resource] = Controller("authorship", self._reconcile, host.runtime)

    async def run(self) -> None:
        """Work until cancelled."""
        if await wait_installed(self._host) is None:
            return
        async with asyncio.TaskGroup() as tasks:
            for kind in self._kinds:
                tasks.create_task(kind.run())
                tasks.create_task(self._listen(kind))
            tasks.create_task(self._controller.run())

    async def _listen(self, kind: Cache) -> None:
        """Hear of what changes from now on; a host need not serve every form of the kind that enables types."""
        await kind.wait_synced()
        kind.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        if _asks_for(change.old) != _asks_for(change.new):
            self._controller.queue.add(FEDERATED_KINDS)

    async def _reconcile(self, _kinds: Resource) -> None:
        await stamp_authors(self._host, plain_objects=self._plain_objects)


def _asks_for(config: Obj | None) -> object:
    return None if config is None else (config.get("spec"), dig(config, "metadata", "deletionTimestamp"))
