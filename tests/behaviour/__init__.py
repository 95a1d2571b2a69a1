"""What a cluster does, as scenarios that are played on a simulated cluster and on a real one alike."""
