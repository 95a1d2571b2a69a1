// VitessCluster: from the cells and keyspaces of a spec to one VitessCell each.
local vitess = import 'vitess.libsonnet';

local cellOf(cluster, cell) = {
  local family = vitess.inherited(cluster, vitess.cellLabel, cell.name),
  apiVersion: 'vitess.io/v1alpha1',
  kind: 'VitessCell',
  metadata: { name: '%s-%s' % [cluster.metadata.name, cell.name], labels: family.template.metadata.labels },
  spec: cell + family + {
    cluster: cluster.metadata.name,
    backupFlags: vitess.get(cluster.spec, 'backupFlags', {}),
    keyspaces: [each for each in vitess.get(cluster.spec, 'keyspaces', []) if std.member(each.cells, cell.name)],
  },
};

function(request)
  local cluster = request.parent;
  local observed = vitess.ofKind(request.children, 'VitessCell.vitess.io/v1alpha1');
  local ready = vitess.named(vitess.whereHolds(observed, 'Ready'));
  local missing = vitess.absent('cell', [each.name for each in cluster.spec.cells], ready);
  {
    status: { cells: vitess.named(observed), readyCells: ready, conditions: [vitess.readyCondition(missing)] },
    children: [cellOf(cluster, each) for each in cluster.spec.cells],
  }
