"""The engine: intents to members and status back.

A front door translates what a user wrote into an `Intent`; from there every door shares one road: place, render,
compare, apply, report. Everything but `apply` is a pure function.
"""
