"""In a cluster to which pods are sent: each Source and ClusterSource is somebody who may, and gets those rights."""
