"""The machines of a simulated cluster: registration and heartbeats, the scheduler, the kubelet's side of pods."""
