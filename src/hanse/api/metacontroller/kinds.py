"""Metacontroller's kinds, labels, annotations and finalizers, each spelt once."""

from __future__ import annotations

from hanse.kube.resources import Resource

GROUP = "metacontroller.k8s.io"
VERSION = "v1alpha1"

COMPOSITE_CONTROLLERS = Resource(GROUP, VERSION, "compositecontrollers", "CompositeController", namespaced=False)
DECORATOR_CONTROLLERS = Resource(GROUP, VERSION, "decoratorcontrollers", "DecoratorController", namespaced=False)
MAP_CONTROLLERS = Resource(GROUP, VERSION, "mapcontrollers", "MapController", namespaced=False)
CONTROLLER_REVISIONS = Resource(GROUP, VERSION, "controllerrevisions", "ControllerRevision")

# Where Metacontroller lives, and where guides for it have people put their hooks.
HOME_NAMESPACE = "metacontroller"

# Among the doors of a Cluster: the controllers of that cluster are run in it.
COMPOSITES_DOOR = "composites"

# On children and revisions of a parent whose selector is generated: the uid of the parent.
CONTROLLER_UID_LABEL = "controller-uid"
# On a revision: the group and the resource of its parent.
REVISION_GROUP_LABEL = f"{GROUP}/apiGroup"
REVISION_RESOURCE_LABEL = f"{GROUP}/resource"
# On a revision: which moved children are not well yet and since when, and why its rollout stopped; Hanse's own.
ROLLOUT_ANNOTATION = "hanse.dev/rollout"
# On an attachment: the controller that attached it.
DECORATOR_ANNOTATION = f"{GROUP}/decorator-controller"
# On an output: the controller that made it, and the input of which it was made.
MAP_ANNOTATION = f"{GROUP}/map-controller"
MAP_KEY_ANNOTATION = f"{GROUP}/map-key"
# On a child: the JSON of what was last asked for.
LAST_APPLIED_ANNOTATION = f"{GROUP}/last-applied-configuration"

# What holds a parent until its finalize hook has said that all is done, followed by the controller's name.
COMPOSITE_FINALIZER_PREFIX = "metacontroller.io/compositecontroller-"
DECORATOR_FINALIZER_PREFIX = "metacontroller.io/decoratorcontroller-"
# A finalizer's name after the slash has 63 characters at most.
LONGEST_CONTROLLER_NAME = 43
