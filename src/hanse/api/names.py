"""Labels, annotations, finalizers and namespaces, each spelt once."""

# The namespace in which Hanse keeps what is its own: credentials, leases.
SYSTEM_NAMESPACE = "hanse-system"
# The beginning of the namespaces in which clusters that fetch their work find it.
AGENT_NAMESPACE_PREFIX = "hanse-cluster-"

# On the namespace of Hanse's own: "existing" says that the host is also a cluster of its own, whose plain objects stay.
HOST_ANNOTATION = "hanse.dev/host"

# On every object that Hanse wrote into a member.
MANAGED_LABEL = "hanse.dev/managed"
# By these others know that an object is looked after; an object that is left to its cluster carries none of them.
MANAGED_LABELS = (MANAGED_LABEL, "kubefed.io/managed", "kubefed.k8s.io/managed", "federation.k8s.io/managed")
# The uid of the source object; without it, a member object is not Hanse's whatever its labels say.
OWNER_ANNOTATION = "hanse.dev/owner-uid"
# A digest of what was rendered; it differs when a field was taken out of the template.
RENDERED_ANNOTATION = "hanse.dev/rendered"

# A digest of the template alone, on the copies of objects whose changes spread cluster by cluster.
TEMPLATE_ANNOTATION = "hanse.dev/template"

# On a source object: it may go only when its copies are gone.
FINALIZER = "hanse.dev/propagation"
# On a source object of a kind without conditions: what is missing, in one sentence.
STATUS_ANNOTATION = "hanse.dev/status"
# On a source object: "orphan" leaves the copies in the members when it is deleted.
DELETION_ANNOTATION = "hanse.dev/deletion"
# On a source object: what its rollout over the clusters has to remember, and up to which group it was approved.
ROLLOUT_ANNOTATION = "hanse.dev/rollout"
ROLLOUT_APPROVED_ANNOTATION = "hanse.dev/rollout-approved"
# On a source object: "report" leaves what somebody changes in a member as it is, and tells of it.
DRIFT_ANNOTATION = "hanse.dev/drift"
# On a source object: "true" takes over objects of its name that clusters already have.
ADOPT_ANNOTATION = "hanse.dev/adopt"
# On a source object: "false" keeps it on the federation; copies that it has stay in the clusters and become theirs.
FEDERATE_ANNOTATION = "hanse.dev/federate"
# On a workload: "follow" has what its pod template names go where it goes; on what can be named: it goes only there.
# "stay" leaves everything where its own placement says, whatever a policy asks.
DEPENDENCIES_ANNOTATION = "hanse.dev/dependencies"
# On a source object: who wrote it last, and their groups, one a line; admission writes both, and nobody else can.
AUTHOR_ANNOTATION = "hanse.dev/author"
AUTHOR_GROUPS_ANNOTATION = "hanse.dev/author-groups"
# Everything under this prefix is between Hanse and the federation's users and is not copied into members.
# On a definition: a name that another group has, too, means that one's kind; only the embedded API server heeds it.
YIELDS_ANNOTATION = "hanse.dev/yields-names"

PREFIX = "hanse.dev/"

CLUSTER_SELECTOR_ANNOTATION = "federation.alpha.kubernetes.io/cluster-selector"
DEPLOYMENT_PREFERENCES_ANNOTATION = "federation.kubernetes.io/deployment-preferences"
REPLICA_SET_PREFERENCES_ANNOTATION = "federation.kubernetes.io/replica-set-preferences"
JOB_PREFERENCES_ANNOTATION = "federation.kubernetes.io/job-preferences"
# On a workload that a federated autoscaler scales, written by Hanse: the clusters in which it does.
AUTOSCALED_ANNOTATION = "federation.kubernetes.io/hpa-target-cluster-list"
# On an autoscaler, written by Hanse: the workload that was told of it.
SCALES_ANNOTATION = "hanse.dev/scales"
# On a Service with names in DNS, written by Hanse: the addresses of its copies by cluster. While it is there, the
# Service's own status names the federation's hostname in place of them.
SERVICE_INGRESSES_ANNOTATION = "federation.kubernetes.io/service-ingresses"
# On a workload that must never run twice: "true" leaves it to a lost cluster that may still run it.
SINGLETON_ANNOTATION = "hanse.dev/singleton"

REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"

# On the Cluster object of a simulated cluster: "down" while it is to be dead.
FAULT_ANNOTATION = "simulator.hanse.dev/fault"
