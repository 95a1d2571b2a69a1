"""What can be wrong with a simulated cluster: faults as values, schedules of them, and the doing of them.

A fault is a value (`values`), a schedule is a small YAML file of faults and times (`schedule`), `chance` makes one up
from a seed, `gate` does to requests what a fault does on a wire, and `breakage` does to a cluster what its faults say.
"""
