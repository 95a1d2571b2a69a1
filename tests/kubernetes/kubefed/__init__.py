"""The real KubeFed v0.10.0 on real clusters, to compare with and to take over from."""
