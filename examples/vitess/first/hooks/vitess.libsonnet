// What every layer of a VitessCluster does alike: names and labels of the next one, flags, and what is ready of it.
{
  local vitess = self,

  globalCell: 'global',
  webPort: 15000,
  grpcPort: 15999,

  cellLabel: 'vitess.io/cell',
  keyspaceLabel: 'vitess.io/keyspace',
  shardLabel: 'vitess.io/shard',
  componentLabel: 'vitess.io/component',
  uidLabel: 'vitess.io/tablet-uid',
  digestAnnotation: 'vitess.io/spec-digest',

  // A field of an object that may be absent or null, or what stands for it.
  get(object, field, default)::
    local value = std.get(object, field);
    if value == null then default else value,

  labels(parent):: parent.spec.template.metadata.labels,

  // The selector and the template of the next layer: those of its parent and one label more.
  inherited(parent, label, value):: {
    selector: parent.spec.selector { matchLabels: std.get(parent.spec.selector, 'matchLabels', {}) + { [label]: value } },
    template: { metadata: { labels: vitess.labels(parent) + { [label]: value } } },
  },

  selected(parent, label, value):: vitess.inherited(parent, label, value).selector.matchLabels,

  ofKind(children, kind):: std.objectValues(children[kind]),

  withLabel(objects, label, value)::
    std.filter(function(each) std.get(vitess.get(each.metadata, 'labels', {}), label) == value, objects),

  holds(object, condition)::
    local conditions = vitess.get(vitess.get(object, 'status', {}), 'conditions', []);
    std.length([each for each in conditions if each.type == condition && each.status == 'True']) > 0,

  isDeleting(object):: vitess.get(object.metadata, 'deletionTimestamp', '') != '',

  whereHolds(objects, condition):: std.filter(function(each) vitess.holds(each, condition), objects),

  // What objects of a layer are called within their parent.
  named(objects):: std.sort([each.spec.name for each in objects]),

  readyCondition(missing)::
    if missing == [] then
      { type: 'Ready', status: 'True', reason: 'AllReady', message: 'everything below is ready' }
    else
      { type: 'Ready', status: 'False', reason: 'Waiting', message: 'waiting for ' + std.join(', ', missing) },

  // Which of the wanted are not ready, and which that nobody wants are still there.
  absent(what, wanted, ready)::
    local lacking = [name for name in std.sort(wanted) if !std.member(ready, name)];
    if std.sort(wanted) == std.sort(ready) then []
    else if lacking != [] then [what + ' ' + name for name in lacking]
    else [what + ' ' + name + ' to go' for name in std.sort(ready) if !std.member(wanted, name)],

  // A value laid over another: objects field by field, anything else as a whole.
  merged(under, over)::
    if std.isObject(under) && std.isObject(over) then
      under + { [field]: vitess.merged(std.get(under, field), over[field]) for field in std.objectFields(over) }
    else over,

  etcdAddress(cellObject):: 'http://%s-etcd-client:2379' % cellObject,

  sharedFlags(cluster):: {
    grpc_port: vitess.grpcPort,
    logtostderr: true,
    port: vitess.webPort,
    topo_global_root: '/vitess/global',
    topo_global_server_address: vitess.etcdAddress(cluster + '-global'),
    topo_implementation: 'etcd2',
  },

  // The command of a container: flags may name variables and commands, which the shell fills in.
  shell(program, flags)::
    local words = ['-%s="%s"' % [key, flags[key]] for key in std.objectFields(flags)];
    ['bash', '-c', 'set -ex; exec /vt/bin/%s %s' % [program, std.join(' ', words)]],

  webAndGrpc: [{ name: 'web', port: vitess.webPort }, { name: 'grpc', port: vitess.grpcPort }],
  containerPorts: [{ name: each.name, containerPort: each.port } for each in vitess.webAndGrpc],
  security: { runAsUser: 999, fsGroup: 999 },

  resources(wanted):: if std.objectHas(wanted, 'resources') then { resources: wanted.resources } else {},

  liveness(delay, timeout):: {
    httpGet: { path: '/debug/vars', port: vitess.webPort },
    initialDelaySeconds: delay,
    timeoutSeconds: timeout,
  },
}
