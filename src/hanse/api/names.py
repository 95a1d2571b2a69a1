"""Labels, annotations, finalizers and namespaces, each spelt once."""

# The namespace in which Hanse keeps what is its own: credentials, leases.
SYSTEM_NAMESPACE = "hanse-system"

# On every object that Hanse wrote into a member.
MANAGED_LABEL = "hanse.dev/managed"
# The uid of the source object; without it, a member object is not Hanse's whatever its labels say.
OWNER_ANNOTATION = "hanse.dev/owner-uid"
# A digest of what was rendered; it differs when a field was taken out of the template.
RENDERED_ANNOTATION = "hanse.dev/rendered"

# On a source object: it may go only when its copies are gone.
FINALIZER = "hanse.dev/propagation"
# On a source object of a kind without conditions: what is missing, in one sentence.
STATUS_ANNOTATION = "hanse.dev/status"
# On a source object: "orphan" leaves the copies in the members when it is deleted.
DELETION_ANNOTATION = "hanse.dev/deletion"
# Everything under this prefix is between Hanse and the federation's users and is not copied into members.
PREFIX = "hanse.dev/"

CLUSTER_SELECTOR_ANNOTATION = "federation.alpha.kubernetes.io/cluster-selector"
DEPLOYMENT_PREFERENCES_ANNOTATION = "federation.kubernetes.io/deployment-preferences"
# On a workload that must never run twice: "true" leaves it to a lost cluster that may still run it.
SINGLETON_ANNOTATION = "hanse.dev/singleton"

REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"

# On the Cluster object of a simulated cluster: "down" while it is to be dead.
FAULT_ANNOTATION = "simulator.hanse.dev/fault"
