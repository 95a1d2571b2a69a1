"""Policies that every API server must take or refuse alike."""


def policy(resource, name, **spec):
    namespace = {"namespace": "default"} if resource.namespaced else {}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **namespace},
        "spec": {"selects": [{"kind": "Deployment"}], **spec},
    }


REFUSED = {
    "spec.selects": {"selects": []},
    "minGroups must not exceed maxGroups": {"spread": [{"by": "region", "minGroups": 3, "maxGroups": 2}]},
    "only one constraint may have a maxSkew": {
        "spread": [{"by": "region", "maxSkew": 1}, {"by": "zone", "maxSkew": 1}]
    },
    "type Weighted needs weights": {"division": {"type": "Weighted"}},
    "weights belong to type Weighted": {"division": {"weights": [{"weight": 1}]}},
    "Unsupported value": {"division": {"type": "Fair"}},
    "afterSeconds means nothing": {"failover": {"never": True, "afterSeconds": 3}},
    "never and always exclude each other": {"failover": {"never": True, "always": True}},
    "gate Manual needs an order": {"rollout": {"gate": "Manual", "order": []}},
    "should be greater than or equal to 1": {"rollout": {"maxClusters": 0}},
    "should be less than or equal to 100": {"rollout": {"maxPercent": 101}},
    "operator must be Exists when key is empty": {"tolerations": [{"value": "x"}]},
    "cannot be overridden": {"overrides": [{"patches": [{"path": "/metadata/name", "value": "x"}]}]},
}

WHOLE = {
    "priority": 3,
    "respectCapacity": True,
    "clusters": {"exclude": ["old"], "selector": {"matchLabels": {"tier": "gold"}}},
    "groups": [{"name": "home", "clusters": {"names": ["a"]}}, {"name": "abroad", "clusters": {}}],
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
    "spread": [{"by": "region", "minGroups": 1, "maxGroups": 3, "maxSkew": 1}],
    "division": {"type": "Preferences", "rebalance": True, "clusters": {"*": {"weight": 2, "maxReplicas": 5}}},
    "failover": {
        "afterSeconds": 300,
        "failBack": False,
        "failBackAfterSeconds": 60,
        "spareClusters": 1,
        "always": True,
    },
    "rollout": {
        "order": [{"names": ["a"]}, {"selector": {"matchLabels": {"tier": "silver"}}}],
        "maxClusters": 2,
        "maxPercent": 25,
        "gate": "Manual",
        "pauseSeconds": 30,
    },
    "overrides": [{"patches": [{"op": "add", "path": "/metadata/labels/x", "value": "y"}]}],
}
