"""Listeners that keep nothing alive."""

from hanse.pods.listening import weakly


class Ear:
    def __init__(self, heard):
        self.heard = heard

    def hear(self, word):
        self.heard.append(word)


def test_an_object_hears_for_as_long_as_somebody_holds_it():
    heard = []
    ear = Ear(heard)
    tell = weakly(ear.hear)

    tell("first")
    del ear
    tell("second")

    assert heard == ["first"]
