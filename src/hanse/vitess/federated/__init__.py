"""One VitessCluster over many clusters: split into one object for each member, and what has to know of all of them.

Decisions are pure (`splitting`, `initializers`, `leaving`, `pruning`, `tokens` …) and meet in `planning`; `door` tells
the engine what each member shall have, and `controller` alone writes plans, status and topology.
"""
