"""Virtual nodes: one Node for each target in the cluster whose pods go there, alive by a Lease while we are."""
