"""What a pod wishes of the cluster that it runs in: its scheduling constraints as the placement of one replica.

To a pod its targets are nodes, as Admiralty has it: each is a virtual node with labels and taints. What Kubernetes'
scheduler would make of a pod's constraints over those nodes, placement makes of them here.
"""
