"""In every cluster: one ClusterSummary says what all its nodes have together, for those who send pods there."""
