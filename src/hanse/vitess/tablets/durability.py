"""Durability policies of Vitess: whether a primary waits, and who acknowledges. Pure."""

from __future__ import annotations

from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType

_WITH_RDONLY = "_with_rdonly_ack"


def waits_for_acknowledgement(policy: str) -> bool:
    """Tell whether a primary's write counts only once another tablet has it."""
    return policy not in ("", "none")


def acknowledges(policy: str, primary: TabletAlias, tablet: Tablet) -> bool:
    """Tell whether a replica acknowledges the writes of a primary."""
    if not waits_for_acknowledgement(policy) or tablet.alias is None:
        return False
    if policy.startswith("cross_cell") and tablet.alias.cell == primary.cell:
        return False
    return tablet.type in (TabletType.REPLICA, TabletType.PRIMARY) or (
        tablet.type == TabletType.RDONLY and policy.endswith(_WITH_RDONLY)
    )
