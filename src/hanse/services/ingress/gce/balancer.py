"""Google's global load balancer behind the one interface: observe, compare, carry out, in the order of the pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hanse.kube.manifest import Obj
from hanse.services.ingress.balancer import Refused, Standing, Tell, Wish, removal_problem
from hanse.services.ingress.gce.compute import Compute, ComputeError
from hanse.services.ingress.gce.gathering import (
    address_of,
    certificate_of,
    design_of,
    first_tag,
    ground_of,
    groups_of,
    instance_of,
)
from hanse.services.ingress.gce.pieces import Piece, health_checks, read_description, remaining_pieces, wants_https
from hanse.services.ingress.gce.steps import (
    NUMBERED,
    Change,
    Create,
    Keep,
    Remove,
    Step,
    belongs,
    removals,
    step_for,
    step_problems,
    without_clusters,
    without_groups,
    without_tags,
)
from hanse.services.ingress.names import PREFIX, resource_name

# Of these there may be one for each node port.
_SEVERAL = {"healthChecks": "health checks", "backendServices": "backend services"}


class GceBalancer:
    """Load balancers in one project of Google's cloud."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    async def ensure(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Have every piece as planned; each stage is compared as a whole before any of it is written."""
        try:
            design = await design_of(wish, self._compute.project)
            address = await address_of(self._compute, wish.ingress)
            for each in design.ports:
                tell(f"Path for healthcheck is {each.path}")
            await self._ensure(design.name, health_checks(design), force=force, tell=tell)
            groups = await groups_of(wish, tell)
            ground = await ground_of(self._compute, design, address, groups, tell)
            certificate = await certificate_of(self._compute, wish) if wants_https(wish.ingress) else None
            await self._ensure(design.name, remaining_pieces(design, ground, certificate), force=force, tell=tell)
        except ComputeError as error:
            raise Refused(str(error)) from error

    async def delete(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Take every piece away, in reverse; without `force` the first that cannot be removed ends it."""
        problems = []
        listed = {}
        for collection, _, _ in NUMBERED:
            listed[collection] = [each["name"] for each in await self._listed(collection) if belongs(each, wish.name)]
        for step in removals(wish.name, listed):
            tell(f"Deleting {step.words} {step.name}")
            try:
                gone = await self._delete(step, wish.name)
            except ComputeError as error:
                problems.append(f"error in deleting {step.words} {step.name}: {error}")
                if not force:
                    break
                tell(f"{problems[-1]}. Continuing with force delete")
                continue
            outcome = "deleted successfully" if gone else "does not exist. Nothing to delete"
            tell(f"{_capital(step.words)} {step.name} {outcome}")
        if problems:
            raise Refused(*problems)

    async def _delete(self, step: Remove, balancer: str) -> bool:
        """Take a piece away; False where it is not there, ComputeError where it is another load balancer's."""
        present = await self._compute.find(step.collection, step.name)
        if present is not None and not belongs(present, balancer):
            raise ComputeError("it belongs to somebody else")
        return present is not None and await self._compute.delete(step.collection, step.name)

    async def remove_clusters(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Lead nobody to these clusters any more: firewall rule, backend services, and last the state."""
        standing = await self.find(wish.name)
        if standing is None:
            raise Refused(f"Load balancer {wish.name} does not exist")
        if problem := removal_problem(standing, wish.clusters, force=force):
            raise Refused(problem)
        problems: list[str] = []
        try:
            groups = await groups_of(wish, tell)
        except Refused as error:
            if not force:
                raise
            # A cluster that is gone cannot tell its groups; it shall at least not be named any more.
            tell(f"Error in fetching instance groups: {error}. Continuing with force update")
            problems.append(str(error))
            groups = {}
        try:
            if groups:
                await self._close_firewall(wish.name, groups, tell)
                await self._drop_groups(wish.name, [link for links in groups.values() for link in links], tell)
            url_map = await self._compute.find("urlMaps", resource_name("um", wish.name))
            if url_map is not None:
                tell(f"Removing clusters {' '.join(sorted(wish.clusters))} from url map")
                await self._compute.update("urlMaps", without_clusters(url_map, list(wish.clusters)))
        except ComputeError as error:
            problems.append(str(error))
        if problems:
            raise Refused(*problems)

    async def find(self, name: str) -> Standing | None:
        """Read how it stands from its URL map, or as it once was kept, from a forwarding rule."""
        try:
            for collection, kind in (("urlMaps", "um"), ("forwardingRules", "fw"), ("forwardingRules", "fws")):
                found = await self._compute.find(collection, resource_name(kind, name))
                standing = read_description((found or {}).get("description") or "")
                if standing is not None and standing.name == name:
                    return standing
        except ComputeError as error:
            raise Refused(str(error)) from error
        return None

    async def list(self) -> Sequence[Standing]:
        """Return all that kubemci or Hanse made in the project."""
        found: dict[str, Standing] = {}
        for collection in ("forwardingRules", "urlMaps"):
            for each in await self._listed(collection):
                standing = read_description(each.get("description") or "")
                if each["name"].startswith(PREFIX) and standing is not None:
                    found[standing.name] = standing
        return [found[name] for name in sorted(found)]

    async def _listed(self, collection: str) -> Sequence[Obj]:
        try:
            return await self._compute.list(collection)
        except ComputeError as error:
            raise Refused(str(error)) from error

    async def _ensure(self, balancer: str, pieces: Iterable[Piece], *, force: bool, tell: Tell) -> None:
        steps = [step_for(piece, await self._compute.find(piece.collection, piece.name)) for piece in pieces]
        if problems := step_problems(steps, balancer, force=force):
            raise Refused(*problems)
        stage = ""
        for step in steps:
            if step.piece.collection != stage:
                stage = step.piece.collection
                tell(f"Ensuring {_SEVERAL.get(stage, step.piece.words)}")
            await self._take(step, tell)

    async def _take(self, step: Step, tell: Tell) -> None:
        piece = step.piece
        match step:
            case Keep():
                tell(f"Desired {piece.words} {piece.name} exists already")
            case Create():
                tell(f"Creating {piece.words} {piece.name}")
                await self._compute.insert(piece.collection, piece.body)
                tell(f"{_capital(piece.words)} {piece.name} created successfully")
            case Change(present=present):
                tell(f"Updating existing {piece.words} {piece.name} to match the desired state")
                await self._change(piece, present)
                tell(f"{_capital(piece.words)} {piece.name} updated successfully")

    async def _change(self, piece: Piece, present: Obj) -> None:
        body, path = piece.body, f"{piece.collection}/{piece.name}"
        match piece.collection:
            case "targetHttpProxies" | "targetHttpsProxies":
                await self._compute.call(f"{path}/setUrlMap", {"urlMap": body["urlMap"]})
                if certificates := body.get("sslCertificates"):
                    await self._compute.call(f"{path}/setSslCertificates", {"sslCertificates": certificates})
            case "forwardingRules" if _only_target(body, present):
                await self._compute.call(f"global/{path}/setTarget", {"target": body["target"]})
            case "forwardingRules":
                # An address or a port cannot be changed: for that moment nobody is served.
                await self._compute.delete(piece.collection, piece.name)
                await self._compute.insert(piece.collection, body)
            case _:
                fingerprint = {"fingerprint": present["fingerprint"]} if "fingerprint" in present else {}
                await self._compute.update(piece.collection, {**body, **fingerprint})

    async def _close_firewall(self, balancer: str, groups: Mapping[str, Sequence[str]], tell: Tell) -> None:
        name = resource_name("fr", balancer)
        present = await self._compute.find("firewalls", name)
        if present is None:
            return
        tell("Removing clusters from firewall rule")
        tags = [first_tag(await instance_of(self._compute, links[0])) for links in groups.values() if links]
        narrowed = without_tags(present, tags)
        if narrowed is None:
            await self._compute.delete("firewalls", name)
        else:
            await self._compute.update("firewalls", narrowed)

    async def _drop_groups(self, balancer: str, groups: Sequence[str], tell: Tell) -> None:
        tell("Removing backend services from clusters")
        for each in await self._compute.list("backendServices"):
            narrowed = without_groups(each, groups)
            if belongs(each, balancer) and narrowed != each:
                await self._compute.update("backendServices", narrowed)


def _only_target(body: Obj, present: Obj) -> bool:
    return all(body[field] == present.get(field) for field in ("IPAddress", "portRange", "IPProtocol", "description"))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
