// Commands to Vitess as Jobs: vtctlclient speaks with the global vtctld.
local vitess = import 'vitess.libsonnet';

{
  local vtctl = self,

  cellInfoName(cell):: cell.metadata.name + '-cell-info',

  // Tells Vitess where the topology of a cell is: in its own etcd, or else in the global one.
  registerCell(cell)::
    local spec = cell.spec;
    local home = if std.objectHas(spec, 'etcd') then cell.metadata.name else spec.cluster + '-global';
    local command = ['UpdateCellInfo', '-server_address', vitess.etcdAddress(home), '-root', '/vitess/' + spec.name];
    vtctl.job(cell, vtctl.cellInfoName(cell), command + [spec.name], 60),

  job(parent, name, command, seconds)::
    local labels = vitess.labels(parent) + { [vitess.componentLabel]: 'vtctlclient' };
    local server = '%s-global-vtctld:%d' % [parent.spec.cluster, vitess.grpcPort];
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: name, labels: labels },
      spec: {
        activeDeadlineSeconds: seconds,
        backoffLimit: 10,
        template: {
          metadata: { labels: labels },
          spec: {
            restartPolicy: 'OnFailure',
            containers: [{
              name: 'vtctlclient',
              image: 'vitess/vtctlclient',
              command: ['vtctlclient', '-server', server] + command,
            }],
          },
        },
      },
    },
}
