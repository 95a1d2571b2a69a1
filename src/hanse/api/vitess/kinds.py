"""The kinds, labels and annotations of the first Vitess operator, each spelt once."""

from __future__ import annotations

from hanse.kube.resources import Resource

GROUP = "vitess.io"
VERSION = "v1alpha1"

VITESS_CLUSTERS = Resource(GROUP, VERSION, "vitessclusters", "VitessCluster")
VITESS_CELLS = Resource(GROUP, VERSION, "vitesscells", "VitessCell")
VITESS_KEYSPACES = Resource(GROUP, VERSION, "vitesskeyspaces", "VitessKeyspace")
VITESS_SHARDS = Resource(GROUP, VERSION, "vitessshards", "VitessShard")

# As the archived etcd-operator had it.
ETCD_CLUSTERS = Resource("etcd.database.coreos.com", "v1beta2", "etcdclusters", "EtcdCluster")

# One label more on each level, and on what does a component's work.
CELL_LABEL = f"{GROUP}/cell"
KEYSPACE_LABEL = f"{GROUP}/keyspace"
SHARD_LABEL = f"{GROUP}/shard"
COMPONENT_LABEL = f"{GROUP}/component"
TABLET_UID_LABEL = f"{GROUP}/tablet-uid"
# On a tablet's pod: a digest of the spec that it was made from.
SPEC_DIGEST_ANNOTATION = f"{GROUP}/spec-digest"

# The cell with the global etcd and vtctld; it needs no registration and has no tablets.
GLOBAL_CELL = "global"
