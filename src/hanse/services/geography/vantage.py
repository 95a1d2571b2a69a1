"""Where an asker is, as far as it is known. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# A name longer than this is no cluster's, region's or zone's; askers send what they like.
_LONGEST = 253


@dataclass(frozen=True, slots=True)
class Vantage:
    """A place to ask from: a cluster, a region, or a zone of a region; all empty where nothing is known."""

    cluster: str = ""
    region: str = ""
    zone: str = ""

    def __str__(self) -> str:
        if self.cluster:
            return f"cluster/{self.cluster}"
        if self.zone:
            return f"zone/{self.region}/{self.zone}"
        return f"region/{self.region}" if self.region else "nowhere in particular"


NOWHERE = Vantage()


def parse_vantage(text: str) -> Vantage:
    """Read `cluster/NAME`, `region/REGION` or `zone/REGION/ZONE`; raises ValueError with a sentence."""
    kind, *names = text.split("/")
    if all(0 < len(name) <= _LONGEST for name in names):
        match kind, names:
            case "cluster", [cluster]:
                return Vantage(cluster=cluster)
            case "region", [region]:
                return Vantage(region=region)
            case "zone", [region, zone]:
                return Vantage(region=region, zone=zone)
    raise ValueError(f"{text!r} is no place: write cluster/NAME, region/REGION or zone/REGION/ZONE")
