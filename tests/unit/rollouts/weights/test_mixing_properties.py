"""What holds of every mixture, whatever releases, clusters, weights and endpoints there are."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.kube.manifest import Key
from hanse.rollouts.weights.mixing import entries_of, leads, mix
from hanse.rollouts.weights.shares import Name, Share

NAME = Name(Key("shop", "web"))
CLUSTERS = ("ap", "eu", "us")
WEIGHTS = st.integers(0, 100) | st.just(0) | st.integers(0, 100_000)


@st.composite
def shares(draw):
    made = []
    for number in range(draw(st.integers(1, 3))):
        entries = [
            {
                "name": cluster,
                "addresses": [f"192.0.2.{number}"],
                "backends": draw(st.integers(0, 40)),
                "serving": draw(st.booleans()),
                **({"doubtful": True} if draw(st.booleans()) else {}),
            }
            for cluster in draw(st.sets(st.sampled_from(CLUSTERS)))
        ]
        weights = draw(st.dictionaries(st.sampled_from(CLUSTERS), WEIGHTS))
        addresses = draw(st.just({"ttlSeconds": 60, "clusters": entries}) | st.none())
        made.append(Share(f"web-{number}-0", weights, addresses, draw(st.booleans()), draw(st.booleans())))
    return made


def known(every, before):
    """Every release in every cluster of which an address is known, with its weight there and its entry."""
    for share in every:
        spec = share.addresses
        kept = [each for (_, release), each in entries_of(before).items() if release == share.release]
        for entry in kept if spec is None else spec["clusters"]:
            yield share, share.weights.get(entry["name"], 0), entry


@settings(max_examples=40, deadline=None)
@given(shares(), shares())
def test_mixtures(first, second):
    before = mix(first, NAME, None)
    mixed = mix(second, NAME, before)
    if mixed is None:
        return
    assert mix(second, NAME, mixed) == mixed, "the same again changes nothing"
    if not any(share.addresses for share in second):
        return
    led = {place: entry for place, entry in entries_of(mixed).items() if leads(entry)}
    everybody = list(known(second, before))
    assert all(1 <= entry.get("weight", 1) <= 10_000 for entry in led.values())
    if any(leads(entry) and (weight or share.complete) for share, weight, entry in everybody):
        assert led, "somebody is led to while somebody serves who should be, or who was rolled out"
    sure = {
        share.release for share, weight, entry in everybody if weight and leads(entry) and not entry.get("doubtful")
    }
    if sure:
        assert all(entry["asked"] > 0 for entry in led.values()), "nobody stands in while those serve who should"
    for cluster in CLUSTERS:
        there = [entry for (name, _), entry in led.items() if name == cluster]
        for entry in there:
            for other in there:
                # In proportion, but for what rounding to whole numbers and at least 1 makes of it.
                assert abs(entry.get("weight", 1) * other["asked"] - other.get("weight", 1) * entry["asked"]) <= (
                    entry["asked"] + other["asked"]
                )
