"""The table itself; see `known` for its form. Sentences start with what a user of the embedded server should know."""

from __future__ import annotations

from tests.contract.known import Known, row

_REFUSAL = ("$.code", "$.body.code", "$.body.reason", "$.body.message", "$.body.details")
_OTHER_ANSWER = ("$.code", "$.body")

MISSING_KINDS = "Kinds that nothing in a federation uses are not served"
DISCOVERY = "Discovery is told with fewer extras: no address by network, no public caching, JSON only"
PATHS = "Paths, methods and groups that are not there get another of the fitting refusals"
NEGOTIATION = "Forms of answer that no client asks for are refused in other words, or given"
UPSTREAM_500 = "A client's mistake is answered with a 4xx, where upstream answers 500 as if it were its own"
WORDING = "Go's parser and library errors, types and diffs are not imitated word for word; code and reason are the same"
CAUSES = "A rule that is broken is told once for each field, where upstream may repeat itself"
NULL_BODY = (
    "A body of `null` and bytes that are no UTF-8 are refused as no object, where upstream reads something into them"
)
SERVER_METADATA = "A generation that a client makes up is dropped for every kind, where upstream keeps it for some"
GENERATION = "A priority class's generation counts its description too"
PATCHED = "A patch whose result is no such object is refused as a body would be (400), where upstream says 422"
IDENTITY = "A patch that names another uid is refused with another of the fitting codes"
STRICTER = "Node ports out of range are refused in a dry run as well, where upstream leaves them to the real one"
WATCHES = "Rare options and old paths of watches are read in another way, or not known"
PROTECTION = "Volumes, claims and attribute classes carry no protection finalizers: no loop here would take them away"
ADMISSION = "New nodes get no taint and volumes no time of their phase: no node or volume controller would change them"
DEFAULTS = "A few rare defaults and conversions are not filled in or dropped"
ADDRESSES = "Addresses of services are not recorded as IPAddress objects, nor the server's network as a ServiceCIDR"
AGGREGATION = "There is no aggregation: APIServices tell what is served, and none can be added"
WARNINGS = "Warnings about odd but valid pod specs are not given"
CONVERTED = "Ownership of fields of converted kinds is kept under the stored version's names"
TURNS = "An expression may take ten thousand turns of its loops and no more, where upstream's cost limit allows some"
OWNERSHIP = "Ownership of empty values and of lists that the server itself keeps is told in more or fewer entries"
BOOTSTRAP = "What a new cluster holds differs where it speaks of ports, networks and kinds that are not served"
EVICTION = "An eviction is not noted as a condition on the pod that goes"
BUDGETS = "A disruption budget counts at once, where upstream waits for its controller and says when to ask again"
CRDS = "An embedded object without a kind is accepted, where upstream refuses it"
ANONYMOUS = "Nobody without a name gets past authentication (401), where upstream lets RBAC refuse them (403)"

_UNSERVED = (
    "flowcontrol.apiserver.k8s.io",
    "resource.k8s.io",
)
_API_SERVICES = "$.body.items[apiregistration.k8s.io].versions[v1].resources[apiservices]"
_AUTOSCALER = (
    "apiVersion",
    "fieldsV1.f:spec.f:metrics",
    "fieldsV1.f:spec.f:scaleTargetRef.f:apiVersion",
    "fieldsV1.f:spec.f:scaleTargetRef.f:kind",
    "fieldsV1.f:spec.f:scaleTargetRef.f:name",
    "fieldsV1.f:spec.f:targetCPUUtilizationPercentage",
)
_EVENT = (
    "apiVersion",
    "fieldsV1.f:involvedObject",
    "fieldsV1.f:regarding",
    "fieldsV1.f:reportingComponent",
    "fieldsV1.f:reportingController",
)
_READY = 'fieldsV1.f:status.f:conditions.k:{"type":"Ready"}.'


def _owned(fields: tuple[str, ...], above: str = "$.body", entry: int = 0) -> tuple[str, ...]:
    """Return the paths of an object's record of ownership."""
    return tuple(f"{above}.metadata.managedFields[{entry}].{field}" for field in fields)


KNOWN: list[Known] = [
    row("discovery/apis", tuple(f"$.body.groups[{group}]" for group in _UNSERVED), MISSING_KINDS),
    row("discovery/aggregated groups", tuple(f"$.body.items[{group}]" for group in _UNSERVED), MISSING_KINDS),
    row("discovery/aggregated groups", (f"{_API_SERVICES}.subresources", f"{_API_SERVICES}.verbs[*]"), AGGREGATION),
    row("discovery/core", ("$.body.resources[componentstatuses]", "$.body.resources[nodes/proxy]"), MISSING_KINDS),
    row(
        "discovery/aggregated core",
        (
            "$.body.items[0].versions[v1].resources[componentstatuses]",
            "$.body.items[0].versions[v1].resources[nodes].subresources[proxy]",
        ),
        MISSING_KINDS,
    ),
    row("discovery/api", "$.body.serverAddressByClientCIDRs[0]", DISCOVERY),
    row(("discovery/aggregated core", "discovery/aggregated groups"), "$.headers.cache-control", DISCOVERY),
    row("discovery/as yaml", "$.headers.content-type", DISCOVERY),
    row(
        ("plain/unknown version of a group", "openapi/a group's paths", "custom/its kind is gone"),
        ("$.body", "$.headers.content-type"),
        PATHS,
    ),
    row("plain/a double slash", _OTHER_ANSWER, PATHS),
    row("plain/an unknown method", (*_OTHER_ANSWER, "$.headers.cache-control", "$.headers.content-type"), PATHS),
    row("objects/head", "$.code", PATHS),
    row("objects/get in an unknown view", ("$.body.details", "$.body.message"), NEGOTIATION),
    row("watches/bad form", "$.body.message", NEGOTIATION),
    row(("watches/as yaml", "custom/delete the others", "apply/upper case content type"), _OTHER_ANSWER, NEGOTIATION),
    row(
        (
            "refused/a resource version",
            "lists/get bad version",
            "patches/strategic with a bad directive",
            "patches/strategic without a merge key",
            "apply/of a wrong type",
            "watches/bad version",
            "pods/bind to nothing",
            "custom/apply a wrong type",
        ),
        _REFUSAL,
        UPSTREAM_500,
    ),
    row(
        (
            "refused/broken JSON",
            "refused/broken yaml",
            "objects/delete with options of a wrong type",
            "lists/bad continue",
            "patches/merge that is a list",
            "patches/merge that is null",
            "patches/merge that is broken",
            "patches/json that is an object",
            "patches/json that is broken",
            "apply/broken yaml",
        ),
        "$.body.message",
        WORDING,
    ),
    row(
        "refused/unprintable field manager", ("$.body.details.causes[fieldManager].message", "$.body.message"), WORDING
    ),
    row("refused/too much data", ("$.body.details.causes[]", "$.body.details.causes[[]]", "$.body.message"), WORDING),
    row(
        ("rules/its template is fixed", "fixed/Job image"),
        ("$.body.details.causes[spec.template].message", "$.body.message"),
        WORDING,
    ),
    row(
        (
            "fixed/PersistentVolumeClaim mode",
            "fixed/PersistentVolumeClaim size up",
            "fixed/PersistentVolumeClaim size down",
            "fixed/Pod grace period",
            "fixed/Pod account",
            "fixed/Pod restart policy",
            "pods/change its image",
            "pods/name its node",
        ),
        ("$.body.details.causes[spec].message", "$.body.message"),
        WORDING,
    ),
    row(
        "fixed/PersistentVolume source",
        ("$.body.details.causes[spec.persistentvolumesource].message", "$.body.message"),
        WORDING,
    ),
    row("mistakes/a volume without a size", ("$.body.details.causes[1].message", "$.body.message"), WORDING),
    row(
        "custom/bad definition: no storage version",
        (
            "$.body.details.causes[spec.versions].message",
            "$.body.details.causes[status.storedVersions]",
            "$.body.message",
        ),
        WORDING,
    ),
    row("custom/bad status", ("$.body.details.causes[status.ready].message", "$.body.message"), WORDING),
    row(
        (
            "refused/the same key twice",
            "objects/add a finalizer while it is leaving",
            "mistakes/an autoscaler with a metric of a bad type",
        ),
        "$.body.details.causes[1]",
        CAUSES,
    ),
    row(
        "patches/merge of a bad label",
        ("$.body.details.causes[1]", "$.body.details.causes[2]", "$.body.details.causes[3]"),
        CAUSES,
    ),
    row("watches/initial events exactly", ("$.body.details.causes[1]", "$.body.message"), CAUSES),
    row(
        "fixed/Job selector",
        (
            "$.body.details.causes[2].field",
            "$.body.details.causes[2].message",
            "$.body.details.causes[3]",
            "$.body.message",
        ),
        CAUSES,
    ),
    row("refused/null", _REFUSAL, NULL_BODY),
    row("refused/bad UTF-8", _OTHER_ANSWER, NULL_BODY),
    row("objects/create with server-owned metadata", "$.body.metadata.generation", SERVER_METADATA),
    row("fixed/PriorityClass description", "$.body.metadata.generation", GENERATION),
    row(
        (
            "patches/merge with another kind",
            "patches/merge of a wrong type",
            "patches/merge with an unknown field, strictly",
            "patches/strategic of a wrong type",
            "fixed/Deployment kind",
            "fixed/Deployment replicas to text",
            "fixed/strategic patch of text for a list",
            "fixed/merge patch of a list for a map",
        ),
        _REFUSAL,
        PATCHED,
    ),
    row(("patches/merge with another uid", "apply/with another uid"), _REFUSAL, IDENTITY),
    row("rules/service with a bad node port", _OTHER_ANSWER, STRICTER),
    row("watches/one object by path", ("$.body[0]", "$.body[1]", "$.body[2]"), WATCHES),
    row(("watches/by the old path", "watches/with continue"), _OTHER_ANSWER, WATCHES),
    row(
        "watches/initial events as table",
        (
            "$.body[1].object.rows[0].cells[0]",
            "$.body[1].object.rows[0].cells[1]",
            "$.body[1].object.rows[0].cells[2]",
            "$.body[1].object.rows[0].object.metadata.creationTimestamp",
        ),
        WATCHES,
    ),
    row(
        (
            "kinds/create persistentvolumeclaims v1",
            "kinds/create persistentvolumes v1",
            "kinds/create volumeattributesclasses storage.k8s.io/v1",
            "mistakes/a claim with a source of another kind",
            "fixed/create PersistentVolumeClaim",
            "fixed/PersistentVolumeClaim class",
            "fixed/create PersistentVolume",
            "fixed/PersistentVolume policy",
            "fixed/create VolumeAttributesClass",
        ),
        "$.body.metadata.finalizers",
        PROTECTION,
    ),
    row(
        (
            "kinds/table persistentvolumeclaims v1",
            "kinds/table persistentvolumes v1",
            "kinds/table volumeattributesclasses storage.k8s.io/v1",
        ),
        "$.body.rows[0].object.metadata.finalizers",
        PROTECTION,
    ),
    row(
        ("kinds/create persistentvolumes v1", "fixed/create PersistentVolume", "fixed/PersistentVolume policy"),
        "$.body.status.lastPhaseTransitionTime",
        ADMISSION,
    ),
    row("kinds/create nodes v1", "$.body.spec.taints", ADMISSION),
    row("kinds/table daemonsets apps/v1", "$.body.rows[0].object.metadata.annotations", DEFAULTS),
    row("kinds/a core event as events.k8s.io", ("$.body.reportingController", "$.body.reportingInstance"), DEFAULTS),
    row("mistakes/a claim with a source of another kind", "$.body.spec.dataSource", DEFAULTS),
    row("pod-mistakes/an image that is blank", "$.body.spec.template.spec.containers[app].imagePullPolicy", DEFAULTS),
    row("fixed/create EndpointSlice", "$.body.endpoints", DEFAULTS),
    row(("kinds/the service network", "kinds/the address of kubernetes"), _OTHER_ANSWER, ADDRESSES),
    row(
        (
            "pod-mistakes/a host address that is none",
            "pod-mistakes/an image secret without a name",
            "pods/with every field that has a default",
        ),
        "$.headers.warning",
        WARNINGS,
    ),
    row(
        (
            "kinds/create horizontalpodautoscalers autoscaling/v1",
            "kinds/the other autoscaler in the newer version",
        ),
        _owned(_AUTOSCALER),
        CONVERTED,
    ),
    row("kinds/table horizontalpodautoscalers autoscaling/v1", _owned(_AUTOSCALER, "$.body.rows[0].object"), CONVERTED),
    row(("kinds/create events events.k8s.io/v1", "kinds/an events.k8s.io event as core"), _owned(_EVENT), CONVERTED),
    row("kinds/table events events.k8s.io/v1", _owned(_EVENT, "$.body.rows[0].object"), CONVERTED),
    row("kinds/create csinodes storage.k8s.io/v1", "$.body.metadata.managedFields", OWNERSHIP),
    row("kinds/table csinodes storage.k8s.io/v1", "$.body.rows[0].object.metadata.managedFields", OWNERSHIP),
    row("fixed/create EndpointSlice", _owned(("fieldsV1.f:endpoints",)), OWNERSHIP),
    row(
        ("kinds/create ipaddresses networking.k8s.io/v1", "fixed/create IPAddress"),
        _owned(("fieldsV1.f:spec.f:parentRef..",)),
        OWNERSHIP,
    ),
    row(
        "kinds/table ipaddresses networking.k8s.io/v1",
        _owned(("fieldsV1.f:spec.f:parentRef..",), "$.body.rows[0].object"),
        OWNERSHIP,
    ),
    row(
        (
            "kinds/create validatingadmissionpolicybindings admissionregistration.k8s.io/v1",
            "policies/audited bound",
            "policies/warned bound",
            "policies/costly bound",
            "policies/dear bound",
            "policies/let it only warn",
        ),
        _owned(("fieldsV1.f:spec.f:validationActions..",)),
        OWNERSHIP,
    ),
    row(
        "kinds/table validatingadmissionpolicybindings admissionregistration.k8s.io/v1",
        _owned(("fieldsV1.f:spec.f:validationActions..",), "$.body.rows[0].object"),
        OWNERSHIP,
    ),
    row(
        (
            "custom/established",
            "custom/a definition's schema may change",
            "custom/delete the definition",
            "expressions/no more judges",
        ),
        _owned(("fieldsV1.f:status.f:conditions..",), entry=1),
        OWNERSHIP,
    ),
    row(
        "custom/definition as table",
        _owned(("fieldsV1.f:status.f:conditions..",), "$.body.rows[0].object", entry=1),
        OWNERSHIP,
    ),
    row(
        (
            "pods/report its status",
            "pods/a status that cannot be",
            "pods/it ends gracefully",
            "pods/sooner",
            "pods/now",
        ),
        _owned((f"{_READY}f:lastProbeTime", f"{_READY}f:lastTransitionTime"), entry=1),
        OWNERSHIP,
    ),
    row(
        "pods/table of a running one",
        _owned((f"{_READY}f:lastProbeTime", f"{_READY}f:lastTransitionTime"), "$.body.rows[0].object", entry=1),
        OWNERSHIP,
    ),
    row(
        ("pods/by node", "pods/by address"),
        _owned((f"{_READY}f:lastProbeTime", f"{_READY}f:lastTransitionTime"), "$.body.items[a]", entry=1),
        OWNERSHIP,
    ),
    row("expressions/many turns", ("$.code", "$.body"), TURNS),
    row("deleting/the child stays", _owned(("fieldsV1.f:metadata",)), OWNERSHIP),
    row("custom/json patch", _owned(("time",), entry=1), OWNERSHIP),
    row(
        "kinds/the service kubernetes",
        (*_owned(("fieldsV1.f:spec.f:ipFamilyPolicy",)), "$.body.spec.ports[https].targetPort"),
        BOOTSTRAP,
    ),
    row("kinds/the role view", (*_owned(("fieldsV1.f:rules",)), "$.body.rules"), BOOTSTRAP),
    row(("pods/it ends gracefully", "pods/sooner", "pods/now"), "$.body.status.conditions[1]", EVICTION),
    row(
        ("pods/evict under a budget", "pods/evict dry run"),
        ("$.body.details.causes[0].message", "$.body.details.retryAfterSeconds", "$.headers.retry-after"),
        BUDGETS,
    ),
    row("custom/bad: embedded without kind", _OTHER_ANSWER, CRDS),
    row("access/nobody reads", _REFUSAL, ANONYMOUS),
]
