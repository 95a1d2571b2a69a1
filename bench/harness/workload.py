"""What is propagated: Deployments of the size that people really write."""

from __future__ import annotations

from bench.harness.rest import Manifest

RUN_LABEL = "propagate-bench/run"
SET_LABEL = "propagate-bench/set"
IMAGE_BEFORE = "registry.example.com/shop/storefront:v1.14.2"
IMAGE_AFTER = "registry.example.com/shop/storefront:v1.14.3"


def deployment(run: str, group: str, namespace: str, name: str) -> Manifest:
    """A Deployment of the size people really write: about 3 KB of JSON."""
    app = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"}
    env: list[Manifest] = [
        {"name": key, "value": value}
        for key, value in (
            ("LOG_LEVEL", "info"),
            ("HTTP_PORT", "8080"),
            ("METRICS_PORT", "9090"),
            ("DATABASE_HOST", "orders-primary.databases.svc.cluster.local"),
            ("DATABASE_NAME", "orders"),
            ("CACHE_ADDRESS", "cache.shared-services.svc.cluster.local:6379"),
            ("QUEUE_ADDRESS", "amqp://queue.shared-services.svc.cluster.local:5672"),
            ("FEATURE_FLAGS", "checkout-v2,gift-cards,async-invoices"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel-collector.observability:4317"),
        )
    ]
    env += [
        {"name": "DATABASE_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "orders-db", "key": "password"}}},
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    restricted = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**app, RUN_LABEL: run, SET_LABEL: group},
            "annotations": {
                "example.com/owner": "team-storefront@example.com",
                "example.com/runbook": "https://runbooks.example.com/storefront",
                "example.com/change": "Raise the memory limit and turn gift cards on",
            },
        },
        "spec": {
            "replicas": 2,
            "revisionHistoryLimit": 5,
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            "template": {
                "metadata": {
                    "labels": app,
                    "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
                },
                "spec": {
                    "terminationGracePeriodSeconds": 45,
                    "securityContext": {"fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}},
                    "topologySpreadConstraints": [
                        {
                            "maxSkew": 1,
                            "topologyKey": "topology.kubernetes.io/zone",
                            "whenUnsatisfiable": "ScheduleAnyway",
                            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
                        }
                    ],
                    "containers": [
                        {
                            "name": "app",
                            "image": IMAGE_BEFORE,
                            "args": ["--config=/etc/app/config.yaml", "--graceful-timeout=30s"],
                            "ports": [
                                {"name": "http", "containerPort": 8080},
                                {"name": "metrics", "containerPort": 9090},
                            ],
                            "env": env,
                            "resources": {
                                "requests": {"cpu": "100m", "memory": "128Mi"},
                                "limits": {"cpu": "1", "memory": "512Mi"},
                            },
                            "readinessProbe": {
                                "httpGet": {"path": "/ready", "port": "http"},
                                "periodSeconds": 5,
                                "failureThreshold": 3,
                            },
                            "livenessProbe": {
                                "httpGet": {"path": "/healthz", "port": "http"},
                                "initialDelaySeconds": 15,
                                "periodSeconds": 10,
                            },
                            "volumeMounts": [
                                {"name": "config", "mountPath": "/etc/app", "readOnly": True},
                                {"name": "scratch", "mountPath": "/tmp"},
                            ],
                            "securityContext": restricted,
                        },
                        {
                            "name": "log-shipper",
                            "image": "registry.example.com/platform/log-shipper:2.9.1",
                            "args": ["--input=/tmp/app.log", "--output=stdout"],
                            "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}},
                            "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
                            "securityContext": restricted,
                        },
                    ],
                    "volumes": [
                        {"name": "config", "configMap": {"name": "storefront-config"}},
                        {"name": "scratch", "emptyDir": {"sizeLimit": "256Mi"}},
                    ],
                },
            },
        },
    }
