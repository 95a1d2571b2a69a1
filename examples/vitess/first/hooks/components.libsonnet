// The stateless parts of a cell, vtctld, vtgate and orchestrator, and the Services of all.
local vitess = import 'vitess.libsonnet';

local metadata(cell, component) = {
  name: '%s-%s' % [cell.metadata.name, component],
  labels: vitess.labels(cell) + { [vitess.componentLabel]: component },
};

local service(cell, component, ports) = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata(cell, component),
  spec: { selector: vitess.selected(cell, vitess.componentLabel, component), ports: ports },
};

local deployment(cell, component, pod) = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: metadata(cell, component),
  spec: {
    replicas: std.get(cell.spec[component], 'replicas', 1),
    selector: { matchLabels: vitess.selected(cell, vitess.componentLabel, component) },
    template: { metadata: { labels: metadata(cell, component).labels }, spec: pod },
  },
};

local container(cell, component) = {
  name: component,
  image: cell.spec[component].image,
  ports: vitess.containerPorts,
  livenessProbe: vitess.liveness(30, 5),
} + vitess.resources(cell.spec[component]);

local userFlags(wanted) = vitess.get(wanted, 'flags', {});

{
  vtctld(cell)::
    local spec = cell.spec;
    local flags = vitess.sharedFlags(spec.cluster) + {
      cell: spec.name,
      service_map: 'grpc-vtctl',
      web_dir: '/vt/web/vtctld',
      web_dir2: '/vt/web/vtctld2/app',
      workflow_manager_init: true,
      workflow_manager_use_election: true,
    } + vitess.get(spec, 'backupFlags', {}) + userFlags(spec.vtctld);
    [
      service(cell, 'vtctld', vitess.webAndGrpc),
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: metadata(cell, 'vtctld'),
        data: { 'config.js': std.strReplace(importstr 'config.js', '@CLUSTER@', spec.cluster) },
      },
      deployment(cell, 'vtctld', {
        initContainers: [{
          name: 'copy-web',
          image: spec.vtctld.image,
          command: ['bash', '-c', 'set -ex; cp -R /vt/web/. /web/'],
          volumeMounts: [{ name: 'web', mountPath: '/web' }],
        }],
        containers: [container(cell, 'vtctld') {
          command: vitess.shell('vtctld', flags),
          volumeMounts: [
            { name: 'vtdataroot', mountPath: '/vt/vtdataroot' },
            { name: 'web', mountPath: '/vt/web' },
            { name: 'config', mountPath: '/vt/web/vtctld2/app/config' },
          ],
        }],
        volumes: [
          { name: 'vtdataroot', emptyDir: {} },
          { name: 'web', emptyDir: {} },
          { name: 'config', configMap: { name: cell.metadata.name + '-vtctld' } },
        ],
        securityContext: vitess.security,
      }),
    ],

  vtgate(cell)::
    local spec = cell.spec;
    local flags = vitess.sharedFlags(spec.cluster) + {
      cell: spec.name,
      cells_to_watch: spec.name,
      gateway_implementation: 'discoverygateway',
      service_map: 'grpc-vtgateservice',
      tablet_types_to_wait: 'MASTER,REPLICA',
    } + userFlags(spec.vtgate);
    [
      service(cell, 'vtgate', vitess.webAndGrpc),
      deployment(cell, 'vtgate', {
        containers: [container(cell, 'vtgate') {
          command: vitess.shell('vtgate', flags),
          volumeMounts: [{ name: 'vtdataroot', mountPath: '/vt/vtdataroot' }],
        }],
        volumes: [{ name: 'vtdataroot', emptyDir: {} }],
        securityContext: vitess.security,
      }),
    ],

  // Tablets of all cells report to the global one, at port 80.
  orchestrator(cell)::
    local wanted = cell.spec.orchestrator;
    [
      service(cell, 'orchestrator', [{ name: 'web', port: 80, targetPort: 3000 }]),
      deployment(cell, 'orchestrator', {
        containers: [{
          name: 'orchestrator',
          image: wanted.image,
          ports: [{ name: 'web', containerPort: 3000 }],
        } + vitess.resources(wanted)],
      }),
    ],

  // By this Service tablets have names, also before they are ready.
  tabletService(cell)::
    service(cell, 'vttablet', vitess.webAndGrpc) {
      metadata+: { name: '%s-vttablet-%s' % [cell.spec.cluster, cell.spec.name] },
      spec+: { clusterIP: 'None', publishNotReadyAddresses: true },
    },
}
