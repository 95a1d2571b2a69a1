// VitessCell: etcd, vtctld, vtgate, orchestrator, the tablets' Service, the cell's registration, its keyspaces.
// The order of the answer is the order in which a change is rolled out: keyspaces are the last.
local components = import 'components.libsonnet';
local vitess = import 'vitess.libsonnet';
local vtctl = import 'vtctl.libsonnet';

local componentNames = ['vtctld', 'vtgate', 'orchestrator'];
local isGlobal(spec) = spec.name == vitess.globalCell;
local keyspacesOf(spec) = vitess.get(spec, 'keyspaces', []);

local etcd(cell) = {
  apiVersion: 'etcd.database.coreos.com/v1beta2',
  kind: 'EtcdCluster',
  metadata: { name: cell.metadata.name + '-etcd', labels: vitess.labels(cell) },
  spec: { version: cell.spec.etcd.version, size: cell.spec.etcd.size },
};

local keyspaceOf(cell, keyspace) = {
  local family = vitess.inherited(cell, vitess.keyspaceLabel, keyspace.name),
  apiVersion: 'vitess.io/v1alpha1',
  kind: 'VitessKeyspace',
  metadata: { name: '%s-%s' % [cell.metadata.name, keyspace.name], labels: family.template.metadata.labels },
  spec: keyspace + family + {
    cluster: cell.spec.cluster,
    cell: cell.spec.name,
    backupFlags: vitess.get(cell.spec, 'backupFlags', {}),
  },
};

local jobHas(cell, children, condition) =
  local job = std.get(children['Job.batch/v1'], vtctl.cellInfoName(cell));
  job != null && vitess.holds(job, condition);

local childrenOf(cell, observed) =
  local spec = cell.spec;
  (if std.objectHas(spec, 'etcd') then [etcd(cell)] else [])
  + (if std.objectHas(spec, 'vtctld') then components.vtctld(cell) else [])
  + (if std.objectHas(spec, 'vtgate') then components.vtgate(cell) else [])
  + (if std.objectHas(spec, 'orchestrator') then components.orchestrator(cell) else [])
  + (if isGlobal(spec) then [] else [components.tabletService(cell)])
  // One that failed, say because vtctld was not there yet, goes, and another one is made in its place.
  + (if isGlobal(spec) || jobHas(cell, observed, 'Failed') then [] else [vtctl.registerCell(cell)])
  + [keyspaceOf(cell, each) for each in keyspacesOf(spec)];

local statusOf(cell, children) =
  local keyspaces = vitess.ofKind(children, 'VitessKeyspace.vitess.io/v1alpha1');
  local etcds = vitess.ofKind(children, 'EtcdCluster.etcd.database.coreos.com/v1beta2');
  local own(kind, component) = vitess.withLabel(vitess.ofKind(children, kind), vitess.componentLabel, component);
  {
    keyspaces: vitess.named(keyspaces),
    readyKeyspaces: vitess.named(vitess.whereHolds(keyspaces, 'Ready')),
    etcd: {
      clusters: std.length(etcds),
      availableClusters: std.length(vitess.whereHolds(etcds, 'Available')),
    },
    vttablet: { services: std.length(own('Service.v1', 'vttablet')) },
    cellInfoRegistered: isGlobal(cell.spec) || jobHas(cell, children, 'Complete'),
  }
  + {
    [component]: {
      services: std.length(own('Service.v1', component)),
      deployments: std.length(own('Deployment.apps/v1', component)),
      availableDeployments: std.length(vitess.whereHolds(own('Deployment.apps/v1', component), 'Available')),
    }
    for component in componentNames
  }
  + { vtctld+: { configMaps: std.length(own('ConfigMap.v1', 'vtctld')) } };

local missingOf(spec, status) =
  local works(component) =
    local found = status[component];
    found.services > 0 && found.availableDeployments > 0 && std.get(found, 'configMaps', 1) > 0;
  (if std.objectHas(spec, 'etcd') && status.etcd.availableClusters == 0 then ['etcd'] else [])
  + [component for component in componentNames if std.objectHas(spec, component) && !works(component)]
  + (if status.vttablet.services != (if isGlobal(spec) then 0 else 1) then ['the Service of the tablets'] else [])
  + (if !status.cellInfoRegistered then ['the registration of the cell'] else [])
  + vitess.absent('keyspace', [each.name for each in keyspacesOf(spec)], status.readyKeyspaces);

function(request)
  local cell = request.parent;
  local status = statusOf(cell, request.children);
  {
    status: status { conditions: [vitess.readyCondition(missingOf(cell.spec, status))] },
    children: childrenOf(cell, request.children),
  }
