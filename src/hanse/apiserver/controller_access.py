"""The roles of a cluster's own controllers and components, which are not given to people.

A line without indentation names a role, those below it are its rules as `hanse.apiserver.default_access` writes them;
`events` alone is the rule of those who record events.
"""

from __future__ import annotations

_EVENTS = "create patch update | core events.k8s.io | events"

# Each is bound to the service account of the same name in kube-system.
_CONTROLLERS = """
attachdetach-controller
    list watch | core | persistentvolumeclaims persistentvolumes
    get list watch | core | nodes
    patch update | core | nodes/status
    list watch | core | pods
    events
    create delete get list watch | storage.k8s.io | volumeattachments
    get list watch | storage.k8s.io | csidrivers
    get list watch | storage.k8s.io | csinodes
certificate-controller
    delete get list watch | certificates.k8s.io | certificatesigningrequests
    update | certificates.k8s.io | certificatesigningrequests/approval certificatesigningrequests/status
    approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
    sign | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client \
    kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown
    create | authorization.k8s.io | subjectaccessreviews
    events
clusterrole-aggregation-controller
    escalate get list patch update watch | rbac.authorization.k8s.io | clusterroles
cronjob-controller
    get list update watch | batch | cronjobs
    create delete get list patch update watch | batch | jobs
    update | batch | cronjobs/status
    update | batch | cronjobs/finalizers
    delete list watch | core | pods
    events
daemon-set-controller
    get list watch | apps extensions | daemonsets
    update | apps extensions | daemonsets/status
    update | apps extensions | daemonsets/finalizers
    list watch | core | nodes
    create delete list patch watch | core | pods
    create | core | pods/binding
    create delete get list patch update watch | apps | controllerrevisions
    events
deployment-controller
    get list update watch | apps extensions | deployments
    update | apps extensions | deployments/status
    update | apps extensions | deployments/finalizers
    create delete get list patch update watch | apps extensions | replicasets
    get list update watch | core | pods
    events
device-taint-eviction-controller
    delete get list watch | core | pods
    patch update | core | pods/status
    get list watch | resource.k8s.io | resourceclaims
    get list watch | resource.k8s.io | resourceslices
    get list watch | resource.k8s.io | deviceclasses
    events
disruption-controller
    get list watch | apps extensions | deployments
    get list watch | apps extensions | replicasets
    get list watch | core | replicationcontrollers
    get list watch | policy | poddisruptionbudgets
    get list watch | apps | statefulsets
    update | policy | poddisruptionbudgets/status
    patch update | core | pods/status
    get | * | */scale
    events
endpoint-controller
    get list watch | core | pods services
    create delete get list update watch | core | endpoints
    create | core | endpoints/restricted
    events
endpointslice-controller
    get list watch | core | nodes pods services
    update | core | services/finalizers
    create delete get list update watch | discovery.k8s.io | endpointslices
    events
endpointslicemirroring-controller
    get list watch | core | endpoints services
    update | core | services/finalizers
    update | core | endpoints/finalizers
    create delete get list update watch | discovery.k8s.io | endpointslices
    events
ephemeral-volume-controller
    get list watch | core | pods
    update | core | pods/finalizers
    create get list watch | core | persistentvolumeclaims
    events
expand-controller
    get list patch update watch | core | persistentvolumes
    patch update | core | persistentvolumeclaims/status
    get list watch | core | persistentvolumeclaims
    events
generic-garbage-collector
    delete get list patch update watch | * | *
    events
horizontal-pod-autoscaler
    get list watch | autoscaling | horizontalpodautoscalers
    update | autoscaling | horizontalpodautoscalers/status
    get update | * | */scale
    list watch | core | pods
    list watch | metrics.k8s.io | pods
    get list watch | custom.metrics.k8s.io | *
    get list watch | external.metrics.k8s.io | *
    events
job-controller
    get list patch update watch | batch | jobs
    update | batch | jobs/status
    update | batch | jobs/finalizers
    create delete list patch watch | core | pods
    events
legacy-service-account-token-cleaner
    get | core | configmaps | kube-apiserver-legacy-service-account-token-tracking
    delete patch | core | secrets
namespace-controller
    delete get list watch | core | namespaces
    update | core | namespaces/finalize namespaces/status
    delete deletecollection get list watch | * | *
node-controller
    delete get list patch update watch | core | nodes
    patch update | core | nodes/status
    patch update | core | pods/status
    delete get list watch | core | pods
    events
persistent-volume-binder
    create delete get list update watch | core | persistentvolumes
    update | core | persistentvolumes/status
    get list update watch | core | persistentvolumeclaims
    update | core | persistentvolumeclaims/status
    create delete get list watch | core | pods
    get list watch | storage.k8s.io | storageclasses
    list watch | core | nodes
    events
    watch | core | events
pod-garbage-collector
    delete list watch | core | pods
    get list watch | core | nodes
    patch | core | pods/status
pv-protection-controller
    get list update watch | core | persistentvolumes
    events
pvc-protection-controller
    get list update watch | core | persistentvolumeclaims
    update | core | persistentvolumeclaims/status
    get list watch | core | pods
    events
replicaset-controller
    get list update watch | apps extensions | replicasets
    update | apps extensions | replicasets/status
    update | apps extensions | replicasets/finalizers
    create delete list patch watch | core | pods
    events
replication-controller
    get list update watch | core | replicationcontrollers
    update | core | replicationcontrollers/status
    update | core | replicationcontrollers/finalizers
    create delete list patch watch | core | pods
    events
resource-claim-controller
    get list watch | core | pods
    update | core | pods/finalizers
    create delete get list watch | resource.k8s.io | resourceclaims
    patch update | resource.k8s.io | resourceclaims resourceclaims/status
    patch update | core | pods/status
    events
    patch update | resource.k8s.io | resourceclaims/binding
resourcequota-controller
    list watch | * | *
    update | core | resourcequotas/status
    events
root-ca-cert-publisher
    create update | core | configmaps
    events
route-controller
    list watch | core | nodes
    patch | core | nodes/status
    events
selinux-warning-controller
    events
    get list watch | core | persistentvolumes
    get list watch | core | persistentvolumeclaims
    get list watch | core | pods
    get list watch | storage.k8s.io | csidrivers
service-account-controller
    create | core | serviceaccounts
    events
service-cidrs-controller
    get list patch update watch | networking.k8s.io | servicecidrs
    patch update | networking.k8s.io | servicecidrs/finalizers
    patch update | networking.k8s.io | servicecidrs/status
    get list watch | networking.k8s.io | ipaddresses
    events
service-controller
    get list watch | core | services
    patch update | core | services/status
    list watch | core | nodes
    events
statefulset-controller
    list watch | core | pods
    get list watch | apps | statefulsets
    update | apps | statefulsets/status
    update | apps | statefulsets/finalizers
    create delete get patch update | core | pods
    create delete get list patch update watch | apps | controllerrevisions
    create get list watch | core | persistentvolumeclaims
    delete update | core | persistentvolumeclaims
    update | core | pods/finalizers
    events
ttl-after-finished-controller
    delete get list watch | batch | jobs
    events
ttl-controller
    list patch update watch | core | nodes
    events
validatingadmissionpolicy-status-controller
    get list watch | admissionregistration.k8s.io | validatingadmissionpolicies
    get patch update | admissionregistration.k8s.io | validatingadmissionpolicies/status
    events
volumeattributesclass-protection-controller
    get list watch | core | persistentvolumeclaims
    get list watch | core | persistentvolumes
    get list update watch | storage.k8s.io | volumeattributesclasses
    events
"""

_COMPONENTS = """
system:certificates.k8s.io:certificatesigningrequests:nodeclient
    create | certificates.k8s.io | certificatesigningrequests/nodeclient
system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
    create | certificates.k8s.io | certificatesigningrequests/selfnodeclient
system:certificates.k8s.io:kube-apiserver-client-approver
    approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client
system:certificates.k8s.io:kube-apiserver-client-kubelet-approver
    approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
system:certificates.k8s.io:kubelet-serving-approver
    approve | certificates.k8s.io | signers | kubernetes.io/kubelet-serving
system:certificates.k8s.io:legacy-unknown-approver
    approve | certificates.k8s.io | signers | kubernetes.io/legacy-unknown
system:heapster
    get list watch | core | events namespaces nodes pods
    get list watch | extensions | deployments
system:kube-aggregator
    get list watch | core | endpoints services
"""

# Within one namespace: namespace/name.
_NAMESPACED = """
kube-public/system:controller:bootstrap-signer
    get list watch | core | configmaps
    update | core | configmaps | cluster-info
    events
kube-system/extension-apiserver-authentication-reader
    get list watch | core | configmaps | extension-apiserver-authentication
kube-system/system::leader-locking-kube-controller-manager
    create get list update watch | coordination.k8s.io | leases
    create get list update watch | coordination.k8s.io | leasecandidates
kube-system/system::leader-locking-kube-scheduler
    create get list update watch | coordination.k8s.io | leases
    create get list update watch | coordination.k8s.io | leasecandidates
kube-system/system:controller:bootstrap-signer
    get list watch | core | secrets
kube-system/system:controller:cloud-provider
    create get list watch | core | configmaps
kube-system/system:controller:token-cleaner
    delete get list watch | core | secrets
    events
"""


def controller_rules() -> dict[str, tuple[str, ...]]:
    """Return the rules of each controller by the name of its service account."""
    return _parsed(_CONTROLLERS)


def component_rules() -> dict[str, tuple[str, ...]]:
    """Return the rules of the cluster roles that other components are given, by role."""
    return _parsed(_COMPONENTS)


def namespaced_rules() -> dict[str, tuple[str, ...]]:
    """Return the rules of the default roles within a namespace, by namespace and name."""
    return _parsed(_NAMESPACED)


def _parsed(text: str) -> dict[str, tuple[str, ...]]:
    roles: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in text.strip().splitlines():
        if line.startswith(" "):
            rule = line.strip()
            roles[name] += (_EVENTS if rule == "events" else rule,)
        else:
            name = line
            roles[name] = ()
    return roles
