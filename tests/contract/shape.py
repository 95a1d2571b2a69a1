"""The real cluster that the embedded server is held against: an API server and the loops that the embedded one has."""

from tests.kubernetes.real import HOST, ClusterShape

# The embedded server by itself runs no workload controllers either; those are the simulator's.
JUDGE = ClusterShape(controllers=(*HOST.controllers, "root-ca-certificate-publisher-controller"), scheduler=False)
