"""The API of Admiralty, `multicluster.admiralty.io/v1alpha1`: pods that run in another cluster than they seem to."""
