"""The stateless parts of a cell, vtctld, vtgate and orchestrator, and the Services of all. Pure."""

from __future__ import annotations

from hanse.api.vitess.kinds import COMPONENT_LABEL
from hanse.kube.manifest import Obj, name_of
from hanse.vitess.first.flags import GRPC_PORT, WEB_PORT, shared_flags, shell
from hanse.vitess.first.levels import selected, template_labels

# As whom Vitess's images run.
SECURITY = {"runAsUser": 999, "fsGroup": 999}
WEB_AND_GRPC = ({"name": "web", "port": WEB_PORT}, {"name": "grpc", "port": GRPC_PORT})
_ORCHESTRATOR_PORT = 3000

# Links of the dashboard to tablets lead through the API server where the dashboard itself is seen through it.
CONFIG_JS = r"""vtconfig = {
  proxied: function() {
    var found = window.location.pathname.match(/^(.*)\/api\/v1\/namespaces\/([^\/]+)\/services\//);
    return found ? found[1] + '/api/v1/namespaces/' + found[2] : '';
  },
  tabletLinks: function(tablet) {
    var port = tablet.port_map.vt;
    var pod = '@CLUSTER@-vttablet-' + tablet.hostname.split('.')[0];
    var base = this.proxied();
    var page = base ? base + '/pods/' + pod + ':' + port + '/proxy' : 'http://' + tablet.hostname + ':' + port;
    return [{ title: 'Status', href: page + '/debug/status' }];
  },
};
"""

_COPY_WEB = "set -ex; cp -R /vt/web/. /web/"


def vtctld(cell: Obj) -> list[Obj]:
    """Make the admin servers of a cell."""
    spec = cell["spec"]
    flags = {
        **shared_flags(spec["cluster"]),
        "cell": spec["name"],
        "service_map": "grpc-vtctl",
        "web_dir": "/vt/web/vtctld",
        "web_dir2": "/vt/web/vtctld2/app",
        "workflow_manager_init": True,
        "workflow_manager_use_election": True,
        **(spec.get("backupFlags") or {}),
        **(spec["vtctld"].get("flags") or {}),
    }
    name = f"{name_of(cell)}-vtctld"
    volumes = [
        {"name": "vtdataroot", "emptyDir": {}},
        {"name": "web", "emptyDir": {}},
        {"name": "config", "configMap": {"name": name}},
    ]
    mounts = [
        {"name": "vtdataroot", "mountPath": "/vt/vtdataroot"},
        {"name": "web", "mountPath": "/vt/web"},
        {"name": "config", "mountPath": "/vt/web/vtctld2/app/config"},
    ]
    copying = {
        "name": "copy-web",
        "image": spec["vtctld"]["image"],
        "command": ["bash", "-c", _COPY_WEB],
        "volumeMounts": [{"name": "web", "mountPath": "/web"}],
    }
    container = {**_container(cell, "vtctld"), "command": shell("vtctld", flags), "volumeMounts": mounts}
    pod = {"initContainers": [copying], "containers": [container], "volumes": volumes, "securityContext": SECURITY}
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(cell, "vtctld"),
        "data": {"config.js": CONFIG_JS.replace("@CLUSTER@", spec["cluster"])},
    }
    return [_service(cell, "vtctld", WEB_AND_GRPC), config, _deployment(cell, "vtctld", pod)]


def vtgate(cell: Obj) -> list[Obj]:
    """Make the query routers of a cell."""
    spec = cell["spec"]
    flags = {
        **shared_flags(spec["cluster"]),
        "cell": spec["name"],
        "cells_to_watch": spec["name"],
        "gateway_implementation": "discoverygateway",
        "service_map": "grpc-vtgateservice",
        "tablet_types_to_wait": "MASTER,REPLICA",
        **(spec["vtgate"].get("flags") or {}),
    }
    mounts = [{"name": "vtdataroot", "mountPath": "/vt/vtdataroot"}]
    container = {**_container(cell, "vtgate"), "command": shell("vtgate", flags), "volumeMounts": mounts}
    volumes = [{"name": "vtdataroot", "emptyDir": {}}]
    pod = {"containers": [container], "volumes": volumes, "securityContext": SECURITY}
    return [_service(cell, "vtgate", WEB_AND_GRPC), _deployment(cell, "vtgate", pod)]


def orchestrator(cell: Obj) -> list[Obj]:
    """Make the failover tool of a cell; tablets of all cells report to the global one at port 80."""
    wanted = cell["spec"]["orchestrator"]
    ports = [{"name": "web", "containerPort": _ORCHESTRATOR_PORT}]
    container = {"name": "orchestrator", "image": wanted["image"], "ports": ports, **_resources(wanted)}
    port = {"name": "web", "port": 80, "targetPort": _ORCHESTRATOR_PORT}
    return [
        _service(cell, "orchestrator", (port,)),
        _deployment(cell, "orchestrator", {"containers": [container]}),
    ]


def tablet_service(cell: Obj) -> Obj:
    """Make the Service by which tablets have names, also before they are ready."""
    spec = cell["spec"]
    service = _service(cell, "vttablet", WEB_AND_GRPC)
    metadata = {**service["metadata"], "name": f"{spec['cluster']}-vttablet-{spec['name']}"}
    headless = {"clusterIP": "None", "publishNotReadyAddresses": True}
    return {**service, "metadata": metadata, "spec": {**service["spec"], **headless}}


def _metadata(cell: Obj, component: str) -> Obj:
    labels = {**template_labels(cell), COMPONENT_LABEL: component}
    return {"name": f"{name_of(cell)}-{component}", "labels": labels}


def _service(cell: Obj, component: str, ports: tuple[Obj, ...]) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(cell, component),
        "spec": {"selector": selected(cell, COMPONENT_LABEL, component), "ports": list(ports)},
    }


def _container(cell: Obj, component: str) -> Obj:
    wanted = cell["spec"][component]
    return {
        "name": component,
        "image": wanted["image"],
        "ports": [{"name": each["name"], "containerPort": each["port"]} for each in WEB_AND_GRPC],
        "livenessProbe": {
            "httpGet": {"path": "/debug/vars", "port": WEB_PORT},
            "initialDelaySeconds": 30,
            "timeoutSeconds": 5,
        },
        **_resources(wanted),
    }


def _resources(wanted: Obj) -> Obj:
    return {"resources": wanted["resources"]} if "resources" in wanted else {}


def _deployment(cell: Obj, component: str, pod: Obj) -> Obj:
    metadata = _metadata(cell, component)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": cell["spec"][component].get("replicas", 1),
            "selector": {"matchLabels": selected(cell, COMPONENT_LABEL, component)},
            "template": {"metadata": {"labels": metadata["labels"]}, "spec": pod},
        },
    }
