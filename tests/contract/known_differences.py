"""The table itself; see `known` for its form. Sentences start with what a user of the embedded server should know."""

from __future__ import annotations

from tests.contract.known import Known, row

_REFUSAL = ("$.code", "$.body.code", "$.body.reason", "$.body.message", "$.body.details*")

DESCRIPTIONS = "Columns of tables carry no descriptions; kubectl prints none of them"
MISSING_KINDS = "Kinds that nothing in a federation uses are not served"
STORAGE_HASH = "Storage version hashes are made from the served version, where upstream may store another"
DISCOVERY = "Discovery is told with fewer extras: no address by network, no public caching, JSON only"
PATHS = "Paths, methods and groups that are not there get another of the fitting refusals"
NEGOTIATION = "Forms of answer that no client asks for are refused in other words, or given"
UPSTREAM_500 = "A client's mistake is answered with a 4xx, where upstream answers 500 as if it were its own"
WORDING = "Go's parser and library errors are not imitated word for word; code and reason are the same"
CAUSES = "A rule that is broken is told once for each field, where upstream may repeat itself"
NULL_BODY = (
    "A body of `null` and bytes that are no UTF-8 are refused as no object, where upstream reads something into them"
)
DUPLICATES = "A key that stands twice in a JSON object is not noticed; the last one counts"
SERVER_METADATA = "A generation that a client makes up is dropped for every kind, where upstream keeps it for some"
PATCHED = "A patch whose result is no such object is refused as a body would be (400), where upstream says 422"
IDENTITY = "A patch that names another uid or namespace is refused with another of the fitting codes"
NAMELESS = "An applied configuration must name its object, where upstream takes the name from the path"
LENIENT = "Some rules of built-in kinds are not checked; such an object is accepted, where upstream refuses it"
STRICTER = "Some rules are checked in a dry run as well, where upstream leaves them to the real one"
WATCHES = "Rare options and old paths of watches are read in another way, or not known"
TABLES = "A few kinds are shown in tables with name and age only"
ADMISSION = "Protection finalizers, taints of new nodes and token volumes are not added: no kubelet would act on them"
DEFAULTS = "Defaults of some storage kinds are not filled in"
CONVERTED = "Ownership of fields of converted kinds is kept under the stored version's names"
OWNERSHIP = "Ownership of lists that the server itself keeps is told in more or fewer entries"
BOOTSTRAP = "What a new cluster holds differs where it speaks of ports, networks and kinds that are not served"
PODS = "What only a kubelet's API server needs of pods (binding conditions, pod IPs from one IP) is told in another way"
BUDGETS = "A disruption budget counts at once, where upstream waits for its controller and says when to ask again"
NAMESPACE_CONDITIONS = "A namespace that ends does not tell in conditions what remains in it"
CRDS = "Some rules of definitions and of embedded objects are not checked, and deprecated versions give no warning"
ANONYMOUS = "Nobody without a name gets past authentication (401), where upstream lets RBAC refuse them (403)"

KNOWN: list[Known] = [
    row("*", "*columnDefinitions[*].description", DESCRIPTIONS),
    row("discovery/apis", "$.body.groups[*]", MISSING_KINDS),
    row(
        ("discovery/core", "discovery/networking.k8s.io/v1", "discovery/storage.k8s.io/v1"),
        (
            "$.body.resources[componentstatuses]",
            "$.body.resources[nodes/proxy]",
            "$.body.resources[ipaddresses]",
            "$.body.resources[servicecidrs*]",
            "$.body.resources[volumeattributesclasses]",
        ),
        MISSING_KINDS,
    ),
    row("discovery/aggregated *", "$.body.items[*", MISSING_KINDS),
    row("discovery/*", "$.body.resources[*].storageVersionHash", STORAGE_HASH),
    row("discovery/api", "$.body.serverAddressByClientCIDRs[0]", DISCOVERY),
    row("discovery/aggregated *", "$.headers.cache-control", DISCOVERY),
    row("discovery/as yaml", "$.headers.content-type", DISCOVERY),
    row(
        (
            "plain/unknown version of a group",
            "plain/a double slash",
            "plain/an unknown method",
            "objects/head",
            "openapi/a group's paths",
            "custom/its kind is gone",
        ),
        ("$.code", "$.body", "$.headers.*"),
        PATHS,
    ),
    row("objects/get in an unknown view", ("$.body.details", "$.body.message"), NEGOTIATION),
    row(
        ("watches/bad form", "watches/as yaml", "custom/delete the others", "apply/upper case content type"),
        ("$.code", "$.body", "$.body.message"),
        NEGOTIATION,
    ),
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
            "refused/unprintable field manager",
            "refused/too much data",
            "objects/delete with options of a wrong type",
            "lists/bad continue",
            "patches/merge that is *",
            "patches/json that is *",
            "apply/broken yaml",
            "apply/of an unknown field*",
            "apply/the same container twice",
            "rules/container with a negative request",
            "rules/service with an ip of another network",
            "rules/its template is fixed",
            "pods/change its image",
            "pods/add a container",
            "custom/bad definition: no storage version",
            "custom/bad status",
            "custom/apply an unknown field",
        ),
        ("$.body.message", "$.body.details.causes[*"),
        WORDING,
    ),
    row(
        (
            "refused/the same key twice",
            "objects/add a finalizer while it is leaving",
            "patches/merge of a bad label",
            "watches/initial events exactly",
        ),
        ("$.body.details.causes[*]", "$.body.message"),
        CAUSES,
    ),
    row(("refused/null", "refused/bad UTF-8"), (*_REFUSAL, "$.body"), NULL_BODY),
    row(
        ("refused/strict duplicate field", "accepted/duplicate field with a warning"),
        ("$.code", "$.body", "$.headers.warning"),
        DUPLICATES,
    ),
    row("objects/create with server-owned metadata", "$.body.metadata.generation", SERVER_METADATA),
    row(
        (
            "patches/merge with another kind",
            "patches/merge of a wrong type",
            "patches/merge with an unknown field, strictly",
            "patches/strategic of a wrong type",
        ),
        _REFUSAL,
        PATCHED,
    ),
    row(
        ("patches/merge with another uid", "patches/merge with another namespace", "apply/with another uid"),
        _REFUSAL,
        IDENTITY,
    ),
    row("apply/without name", ("$.code", "$.body"), NAMELESS),
    row(
        (
            "rules/container with a port name twice",
            "rules/container with a bad variable",
            "rules/container with an empty probe",
            "rules/volume with two sources",
            "rules/pod with a bad toleration",
            "rules/service with a port twice",
            "rules/service with a bad cluster ip",
            "rules/job with its own selector",
            "rules/cron job with a bad time zone",
            "rules/stateful set with a bad policy",
            "rules/quota with a bad quantity",
            "rules/network policy with a bad type",
            "rules/impossible status",
            "rules/its completions are fixed",
            "pods/name its node",
        ),
        ("$.code", "$.body"),
        LENIENT,
    ),
    row("rules/it becomes an external name", "$.body.spec.*", LENIENT),
    row("rules/service with a bad node port", ("$.code", "$.body"), STRICTER),
    row(
        ("watches/one object by path", "watches/by the old path", "watches/with continue"),
        ("$.code", "$.body*"),
        WATCHES,
    ),
    row("watches/initial events as table", "$.body[1].object.rows[0].*", WATCHES),
    row(
        (
            "kinds/table csidrivers*",
            "kinds/table csinodes*",
            "kinds/table volumeattachments*",
            "kinds/table validatingadmissionpolic*",
        ),
        ("$.body.columnDefinitions[*]", "$.body.rows[0].cells[*]"),
        TABLES,
    ),
    row("kinds/table events events.k8s.io/v1", "$.body.rows[0].cells[5]", TABLES),
    row("kinds/* persistentvolume*", "$.body*metadata.finalizers", ADMISSION),
    row("kinds/create persistentvolumes v1", "$.body.status.lastPhaseTransitionTime", ADMISSION),
    row("kinds/create nodes v1", "$.body.spec.taints", ADMISSION),
    row(
        "pods/*", ("$.body*volumeMounts", "$.body*.spec.volumes", "$.body*.spec.volumes[kube-api-access-*]"), ADMISSION
    ),
    row(("kinds/* csidrivers*", "kinds/* csinodes*"), ("$.body.spec.*", "$.body*metadata.managedFields"), DEFAULTS),
    row("kinds/table daemonsets apps/v1", "$.body.rows[0].object.metadata.annotations", DEFAULTS),
    row("kinds/a core event as events.k8s.io", ("$.body.reportingController", "$.body.reportingInstance"), DEFAULTS),
    row(
        (
            "kinds/* horizontalpodautoscalers autoscaling/v1",
            "kinds/* events events.k8s.io/v1",
            "kinds/the other autoscaler in the newer version",
            "kinds/an events.k8s.io event as core",
        ),
        "$.body*metadata.managedFields[0]*",
        CONVERTED,
    ),
    row("kinds/* validatingadmissionpolicybindings*", "$.body*f:validationActions..", OWNERSHIP),
    row(
        (
            "custom/established",
            "custom/definition as table",
            "custom/a definition's schema may change",
            "custom/delete the definition",
        ),
        "$.body*f:status.f:conditions..",
        OWNERSHIP,
    ),
    row("deleting/the child stays", "$.body.metadata.managedFields[0].fieldsV1.f:metadata", OWNERSHIP),
    row("custom/json patch", "$.body.metadata.managedFields[*].time", OWNERSHIP),
    row(
        "kinds/the service kubernetes",
        ("$.body.metadata.managedFields[0]*", "$.body.spec.ports[https].targetPort"),
        BOOTSTRAP,
    ),
    row("kinds/the role view", ("$.body.metadata.managedFields[0]*", "$.body.rules*"), BOOTSTRAP),
    row(
        "pods/*",
        (
            "$.body*metadata.generation",
            "$.body*metadata.managedFields[*",
            "$.body*status.podIPs",
            "$.body.status.conditions[1]",
        ),
        PODS,
    ),
    row("pods/with every field that has a default", "$.headers.warning", PODS),
    row("pods/evict *", ("$.body.details.*", "$.headers.retry-after"), BUDGETS),
    row(
        ("deleting/it says what remains", "deleting/it again"),
        ("$.code", "$.body", "$.headers.*", "$.body.metadata.managedFields[1]", "$.body.status.conditions"),
        NAMESPACE_CONDITIONS,
    ),
    row(("custom/bad definition: a *", "custom/bad: embedded without kind"), ("$.code", "$.body"), CRDS),
    row("custom/* the older version", "$.headers.warning", CRDS),
    row("access/nobody reads", _REFUSAL, ANONYMOUS),
]
