"""Input that nobody means well, made up from seeds: requests, manifests, DNS packets (docs/reference/fuzzing.md)."""
