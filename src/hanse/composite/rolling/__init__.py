"""Rolling updates: the versions of a parent that its children are at, and which child moves to the newest one next.

All of it is decided here, of values; what must survive a restart is in ControllerRevisions.
"""
