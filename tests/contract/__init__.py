"""The contract: one script of requests, played against the embedded API server and a real one; answers are equal."""
