"""What a cluster is given for pods that run elsewhere: kinds, rights, an admission server, targets."""
