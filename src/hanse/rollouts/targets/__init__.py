"""What clusters show of releases: installed, with how many pods, with how much of the traffic.

`installation`, `capacity` and `traffic` are functions from what members show to what the three targets of a release say
of it; `member_pods` follows the pods and `member_traffic` moves clients to them by a label; the controller tells.
"""

from hanse.rollouts.targets.controller import TargetController

__all__ = ["TargetController"]
