"""What the pods and nodes of a simulated cluster use: metrics.k8s.io from a simulated load."""
