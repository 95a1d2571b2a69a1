// VitessKeyspace: from its shards to one VitessShard each.
local vitess = import 'vitess.libsonnet';

local isRange(shard) = std.objectHas(shard, 'keyRange');

// What Vitess calls a shard: its name, or its key range.
local shardName(shard) =
  if isRange(shard) then '%s-%s' % [std.get(shard.keyRange, 'start', ''), std.get(shard.keyRange, 'end', '')]
  else shard.name;

// What it is called where a name may not begin or end with a dash.
local safeName(shard) =
  local bound(field) = if std.get(shard.keyRange, field, '') == '' then 'x' else shard.keyRange[field];
  if isRange(shard) then '%s-%s' % [bound('start'), bound('end')] else shard.name;

local shardOf(keyspace, shard) = {
  local spec = keyspace.spec,
  local family = vitess.inherited(keyspace, vitess.shardLabel, safeName(shard)),
  apiVersion: 'vitess.io/v1alpha1',
  kind: 'VitessShard',
  metadata: { name: '%s-%s' % [keyspace.metadata.name, safeName(shard)], labels: family.template.metadata.labels },
  spec: shard + family + {
    name: shardName(shard),
    cluster: spec.cluster,
    cell: spec.cell,
    cells: vitess.get(spec, 'cells', [spec.cell]),
    keyspace: spec.name,
    tablets: vitess.get(spec, 'tablets', {}),
    backupFlags: vitess.get(spec, 'backupFlags', {}),
  },
};

function(request)
  local keyspace = request.parent;
  // What a keyspace has that is not divided.
  local wanted = vitess.get(keyspace.spec, 'shards', [{ name: '0' }]);
  local observed = vitess.ofKind(request.children, 'VitessShard.vitess.io/v1alpha1');
  local ready = vitess.named(vitess.whereHolds(observed, 'Ready'));
  local missing = vitess.absent('shard', [shardName(each) for each in wanted], ready);
  {
    status: { shards: vitess.named(observed), readyShards: ready, conditions: [vitess.readyCondition(missing)] },
    children: [shardOf(keyspace, each) for each in wanted],
  }
