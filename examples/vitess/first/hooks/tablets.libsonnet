// The tablets of a shard in one cell: who they are, and the pod and the volume of each.
local vitess = import 'vitess.libsonnet';

// A change is rolled out in this order: those first that cannot be the primary.
local pools = [['batch', 'rdonly'], ['masterEligible', 'replica']];
local uidsPerPool = 100;
local socket = '$VTDATAROOT/mysqlctl.sock';

local tabletUid(cell, keyspace, shard, type, index) =
  std.parseHex(std.md5('%s/%s/%s/%s' % [cell, keyspace, shard, type])[:6]) * uidsPerPool + index;

local newTablet(spec, cell, type, index, pool) = {
  local uid = tabletUid(cell, spec.keyspace, spec.name, type, index),
  type: type,
  uid: uid,
  uidString: '%010d' % uid,
  alias: '%s-%s' % [cell, self.uidString],
  name: '%s-vttablet-%s' % [spec.cluster, self.alias],
  pool: pool,
};

local poolOf(spec, name) =
  local tablets = vitess.get(spec, 'tablets', {});
  if std.objectHas(tablets, name) then vitess.merged(vitess.get(tablets, 'defaults', {}), tablets[name]) else null;

local replicasOf(pool) = std.get(pool, 'replicas', 1);

local podLabels(shard, tablet) =
  vitess.labels(shard) + { [vitess.componentLabel]: 'vttablet', [vitess.uidLabel]: tablet.uidString };

local vttabletFlags(spec, tablet, hostname) =
  local backup = vitess.get(spec, 'backupFlags', {});
  vitess.sharedFlags(spec.cluster)
  + { ['db-config-%s-uname' % user]: 'vt_' + user for user in ['app', 'dba', 'repl', 'filtered'] }
  + { ['db-config-%s-dbname' % user]: 'vt_' + spec.keyspace for user in ['app', 'dba', 'repl', 'filtered'] }
  + { ['db-config-%s-charset' % user]: 'utf8' for user in ['app', 'dba', 'repl', 'filtered'] }
  + {
    enable_replication_reporter: true,
    enable_semi_sync: true,
    health_check_interval: '5s',
    init_keyspace: spec.keyspace,
    init_shard: spec.name,
    init_tablet_type: tablet.type,
    mysqlctl_socket: socket,
    orc_api_url: 'http://%s-global-orchestrator/api' % spec.cluster,
    orc_discover_interval: '5m',
    restore_from_backup: std.objectHas(backup, 'backup_storage_implementation'),
    service_map: 'grpc-queryservice,grpc-tabletmanager,grpc-updatestream',
    'tablet-path': tablet.alias,
    tablet_hostname: hostname,
  } + backup + vitess.get(vitess.get(tablet.pool, 'vttablet', {}), 'flags', {});

local mysqlctldFlags(tablet) = {
  'db-config-dba-charset': 'utf8',
  'db-config-dba-uname': 'vt_dba',
  init_db_sql_file: '$VTROOT/config/init_db.sql',
  logtostderr: true,
  socket_file: socket,
  tablet_uid: tablet.uid,
} + vitess.get(vitess.get(tablet.pool, 'mysql', {}), 'flags', {});

local container(pool, name, variables=[]) = {
  name: name,
  image: pool.image,
  env: [{ name: 'VTROOT', value: '/vt' }, { name: 'VTDATAROOT', value: '/vt/vtdataroot' }] + variables,
  volumeMounts: [{ name: 'vtdataroot', mountPath: '/vt/vtdataroot' }],
};

local podSpec(spec, tablet) =
  local pool = tablet.pool;
  local subdomain = '%s-vttablet-%s' % [spec.cluster, spec.cell];
  local hostname = '$(hostname -s).' + subdomain;
  local extraConfig = '/vt/config/mycnf/master_mysql56.cnf:/vt/vtdataroot/init/report-host.cnf';
  {
    hostname: tablet.alias,
    subdomain: subdomain,
    securityContext: vitess.security,
    initContainers: [container(pool, 'init-vtdataroot') {
      command: [
        'bash',
        '-c',
        'set -ex; mkdir -p $VTDATAROOT/init; echo report-host=%s > $VTDATAROOT/init/report-host.cnf' % hostname,
      ],
    }],
    containers: [
      container(pool, 'vttablet') + vitess.resources(vitess.get(pool, 'vttablet', {})) + {
        ports: vitess.containerPorts,
        livenessProbe: vitess.liveness(60, 10),
        command: vitess.shell('vttablet', vttabletFlags(spec, tablet, hostname)),
      },
      container(pool, 'mysql', [{ name: 'EXTRA_MY_CNF', value: extraConfig }])
      + vitess.resources(vitess.get(pool, 'mysql', {}))
      + { command: vitess.shell('mysqlctld', mysqlctldFlags(tablet)) },
    ],
    volumes: [
      { name: 'vtdataroot' } + (
        if std.objectHas(pool, 'volumeClaim') then { persistentVolumeClaim: { claimName: tablet.name } }
        else { emptyDir: {} }
      ),
    ],
  };

{
  // The tablets in a cell, in the order in which changes reach them.
  tabletsOf(spec, cell):: [
    newTablet(spec, cell, each[1], index, poolOf(spec, each[0]))
    for each in pools
    if poolOf(spec, each[0]) != null
    for index in std.range(0, replicasOf(poolOf(spec, each[0])) - 1)
  ],

  // Tablets of type replica that exist and are not wanted any more.
  surplusReplicas(spec, uids)::
    local pool = poolOf(spec, 'masterEligible');
    if pool == null then [] else [
      tablet
      for index in std.range(replicasOf(pool), uidsPerPool - 1)
      for tablet in [newTablet(spec, spec.cell, 'replica', index, pool)]
      if std.member(uids, tablet.uidString)
    ],

  claims(shard, tablets):: [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: tablet.name, labels: podLabels(shard, tablet) },
      spec: tablet.pool.volumeClaim,
    }
    for tablet in tablets
    if std.objectHas(tablet.pool, 'volumeClaim')
  ],

  // A pod says by a digest what it was made from.
  podOf(shard, tablet)::
    local spec = podSpec(shard.spec, tablet);
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: tablet.name,
        labels: podLabels(shard, tablet),
        annotations: { [vitess.digestAnnotation]: std.md5(std.manifestJsonMinified(spec)) },
      },
      spec: spec,
    },
}
