"""Lambda controllers at work: what is observed for them, the calls of their hooks, and the carrying out of plans."""
