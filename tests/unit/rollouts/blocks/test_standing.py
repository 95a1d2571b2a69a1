"""Whether rollout blocks stand in the way, who overrides them, and what is left when they go."""

import pytest

from hanse.api.shipper.kinds import OVERRIDE_ANNOTATION
from hanse.kube.manifest import Key
from hanse.rollouts.blocks import overrides_of, standing
from hanse.rollouts.blocks.controller import overriding, without

HERE, OTHER, GLOBAL = Key("shop", "freeze"), Key("bank", "freeze"), Key("rollout-blocks-global", "night")


def overriding_object(text=None, name="web", namespace="shop"):
    annotations = {} if text is None else {"annotations": {OVERRIDE_ANNOTATION: text}}
    return {"metadata": {"name": name, "namespace": namespace, **annotations}}


@pytest.mark.parametrize(
    ("override", "blocks", "says"),
    [
        (None, [], None),
        (None, [OTHER], None),
        (None, [HERE], 'rollout block(s) with name(s) "shop/freeze" exist'),
        (None, [HERE, GLOBAL], 'rollout block(s) with name(s) "rollout-blocks-global/night,shop/freeze" exist'),
        ("shop/freeze", [HERE], None),
        ("shop/freeze", [HERE, GLOBAL], 'rollout block(s) with name(s) "rollout-blocks-global/night" exist'),
        (" shop/freeze , rollout-blocks-global/night,", [HERE, GLOBAL], None),
        ("shop/freeze", [], 'rollout block with name "shop/freeze" does not exist'),
        ("bank/freeze", [OTHER], 'rollout block with name "bank/freeze" does not exist'),
        ("shop/old", [HERE], 'rollout block with name "shop/old" does not exist'),
    ],
)
def test_blocks_of_the_namespace_and_global_ones_stand_unless_overridden(override, blocks, says):
    found = standing(overriding_object(override), blocks)

    assert (found and found.message) == says


def test_overrides_are_read_once_each_and_in_order():
    assert overrides_of(overriding_object("b/b, a/a,,b/b")) == ("a/a", "b/b")


def test_70_a_block_lists_those_that_override_it_and_that_it_concerns():
    objects = [
        overriding_object("shop/freeze", "web"),
        overriding_object("shop/freeze,rollout-blocks-global/night", "cart"),
        overriding_object("rollout-blocks-global/night", "bank", "bank"),
        overriding_object("shop/freeze", "stray", "bank"),
    ]

    assert overriding(HERE, objects) == "shop/cart,shop/web"
    assert overriding(GLOBAL, objects) == "bank/bank,shop/cart"


@pytest.mark.parametrize(
    ("text", "left"),
    [("shop/freeze", ""), ("shop/freeze,shop/other", "shop/other"), ("shop/other", None), (None, None)],
)
def test_75_overrides_of_blocks_that_are_gone_are_dropped_and_others_stay(text, left):
    assert without(overriding_object(text), {"shop/freeze"}) == left
