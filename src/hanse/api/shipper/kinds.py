"""Shipper's kinds, labels, annotations and namespaces, each spelt once."""

from __future__ import annotations

from hanse.kube.resources import Resource

GROUP = "shipper.booking.com"
VERSION = "v1alpha1"

APPLICATIONS = Resource(GROUP, VERSION, "applications", "Application")
RELEASES = Resource(GROUP, VERSION, "releases", "Release")
INSTALLATION_TARGETS = Resource(GROUP, VERSION, "installationtargets", "InstallationTarget")
CAPACITY_TARGETS = Resource(GROUP, VERSION, "capacitytargets", "CapacityTarget")
TRAFFIC_TARGETS = Resource(GROUP, VERSION, "traffictargets", "TrafficTarget")
ROLLOUT_BLOCKS = Resource(GROUP, VERSION, "rolloutblocks", "RolloutBlock")

# On Releases, targets, every rendered object and its pods: the application, the release, its environment's hash.
APP_LABEL = "shipper-app"
RELEASE_LABEL = "shipper-release"
HASH_LABEL = "shipper-release-hash"
# On rendered objects and pods: the name of the InstallationTarget.
OWNED_LABEL = "shipper-owned-by"
# On pods: whether the Service in front of them may lead clients there; without it they get none.
TRAFFIC_LABEL = "shipper-traffic-status"
TRAFFIC_ENABLED, TRAFFIC_DISABLED = "enabled", "disabled"
# On the Service that clients come in by.
BALANCED_LABEL = "shipper-lb"
BALANCED = "production"
# On an Application: "true" takes Helm's label `release` out of the Service's selector.
HELM_WORKAROUND_LABEL = "enable-helm-release-workaround"
HELM_RELEASE_LABEL = "release"

HIGHEST_GENERATION_ANNOTATION = f"{GROUP}/app.highestObservedGeneration"
CHART_NAME_ANNOTATION = f"{GROUP}/app.chart.name"
CHART_RESOLVED_ANNOTATION = f"{GROUP}/app.chart.version.resolved"
CHART_RAW_ANNOTATION = f"{GROUP}/app.chart.version.raw"
GENERATION_ANNOTATION = f"{GROUP}/release.generation"
ITERATION_ANNOTATION = f"{GROUP}/release.template.iteration"
CLUSTERS_ANNOTATION = f"{GROUP}/release.clusters"
OVERRIDE_ANNOTATION = f"{GROUP}/rollout-block.override"

# On a Release from birth: it may go only when the release before it has its capacity and traffic back.
ROLLOUT_FINALIZER = "hanse.dev/rollout"
# On a Release: "true" freezes its rollout where it is, until a person takes it away.
PAUSED_ANNOTATION = "hanse.dev/rollout-paused"

# A block in this namespace holds for every namespace.
GLOBAL_BLOCKS_NAMESPACE = "rollout-blocks-global"
SYSTEM_NAMESPACE = "shipper-system"
