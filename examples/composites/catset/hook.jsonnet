// CatSet in Jsonnet: the same answers as hook.py gives, to sync and to finalize.

local byOrdinal(catset, pods) =
  local prefix = catset.metadata.name + '-';
  local number(name) = if std.startsWith(name, prefix) then name[std.length(prefix):] else name;
  local isNumber(text) = text != '' && std.stripChars(text, '0123456789') == '';
  { [number(name)]: pods[name] for name in std.objectFields(pods) if isNumber(number(name)) };

local isReady(pod) =
  local conditions = std.get(std.get(pod, 'status', {}), 'conditions', []);
  std.length([c for c in conditions if c.type == 'Ready' && c.status == 'True']) > 0
  && !std.objectHas(pod.metadata, 'deletionTimestamp');

// Which pods shall be there now: one more once all are ready, one less once the last one is gone.
local wanted(catset, present, ready, replicas) =
  local started = std.get(std.get(catset, 'status', {}), 'replicas', 0);
  local all = std.range(0, replicas - 1);
  local ordinals = [i for i in all if i < started || std.setMember(i, present)];
  local missing = std.setDiff(all, ordinals);
  local next = if missing != [] && std.setDiff(ordinals, ready) == [] then [missing[0]] else [];
  local surplus = [i for i in present if i >= replicas];
  // A pod that stops is still present, so that the one before it waits until it is gone.
  std.set(ordinals + next + surplus[:std.max(0, std.length(surplus) - 1)]);

local claimTemplates(catset) = std.get(catset.spec, 'volumeClaimTemplates', []);

local claimName(catset, template, ordinal) =
  '%s-%s-%d' % [template.metadata.name, catset.metadata.name, ordinal];

local newPod(catset, ordinal) = {
  local template = catset.spec.template,
  local name = '%s-%d' % [catset.metadata.name, ordinal],
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: template.metadata { name: name },
  spec: template.spec {
    hostname: name,
    subdomain: catset.spec.serviceName,
    volumes: std.get(template.spec, 'volumes', []) + [
      {
        name: each.metadata.name,
        persistentVolumeClaim: { claimName: claimName(catset, each, ordinal) },
      }
      for each in claimTemplates(catset)
    ],
  },
};

local claim(catset, template, ordinal) = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name: claimName(catset, template, ordinal),
    labels: catset.spec.template.metadata.labels,
  },
  spec: template.spec,
};

function(request)
  local catset = request.parent;
  local claims = request.children['PersistentVolumeClaim.v1'];
  local pods = byOrdinal(catset, request.children['Pod.v1']);
  local numbers(names) = std.set([std.parseInt(name) for name in names]);
  local ready = numbers([name for name in std.objectFields(pods) if isReady(pods[name])]);
  local replicas = if request.finalizing then 0 else catset.spec.replicas;
  // Children are made, and rolled out, in the order of the answer: claims before their pods, the last pod first.
  local ordinals = std.reverse(wanted(catset, numbers(std.objectFields(pods)), ready, replicas));
  local needed = [claim(catset, each, i) for i in ordinals for each in claimTemplates(catset)];
  local names = std.set([each.metadata.name for each in needed]);
  {
    status: { replicas: std.length(ordinals), readyReplicas: std.length(ready) },
    children: needed
              + [claims[name] for name in std.objectFields(claims) if !std.setMember(name, names)]
              + [newPod(catset, i) for i in ordinals],
  }
  + (if request.finalizing then { finalized: request.children['Pod.v1'] == {} } else {})
