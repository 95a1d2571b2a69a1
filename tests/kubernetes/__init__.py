"""Tests on real Kubernetes components (`make test-kubernetes`)."""
