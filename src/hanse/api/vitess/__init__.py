"""The first Vitess operator's API, `vitess.io/v1alpha1`, and the EtcdCluster that its cells are made of."""
