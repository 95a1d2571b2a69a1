// EtcdCluster: an etcd of a fixed number of members, each a pod with a volume. Members keep their names and their data,
// so that one that comes back is the one that left; another version is rolled out member by member.
local vitess = import 'vitess.libsonnet';

local clientPort = 2379;
local peerPort = 2380;
local labels(etcd) = { app: 'etcd', etcd_cluster: etcd.metadata.name };
local podOptions(etcd) = vitess.get(etcd.spec, 'pod', {});

local available(ready, size) = {
  local hasQuorum = ready > std.floor(size / 2),
  type: 'Available',
  status: if hasQuorum then 'True' else 'False',
  reason: if hasQuorum then 'Quorum' else 'NoQuorum',
  message: '%d of %d members are ready' % [ready, size],
};

local service(etcd, name, port, portName) = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: name, labels: labels(etcd) },
  spec: { selector: labels(etcd), ports: [{ name: portName, port: port }] },
};

local claim(etcd, name) = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: name, labels: labels(etcd) },
  spec: vitess.get(podOptions(etcd), 'persistentVolumeClaimSpec', {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
  }),
};

local pod(etcd, name, names) = {
  local service = etcd.metadata.name,
  local repository = vitess.get(etcd.spec, 'repository', 'quay.io/coreos/etcd'),
  local members = std.join(',', ['%s=http://%s.%s:%d' % [each, each, service, peerPort] for each in names]),
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: name, labels: vitess.get(podOptions(etcd), 'labels', {}) + labels(etcd) },
  spec: {
    hostname: name,
    subdomain: service,
    containers: [{
      name: 'etcd',
      image: '%s:v%s' % [repository, etcd.spec.version],
      command: [
        'etcd',
        '--name=' + name,
        '--data-dir=/var/etcd/data',
        '--initial-cluster=' + members,
        '--initial-cluster-state=new',
        '--initial-cluster-token=' + service,
        '--initial-advertise-peer-urls=http://%s.%s:%d' % [name, service, peerPort],
        '--listen-peer-urls=http://0.0.0.0:%d' % peerPort,
        '--advertise-client-urls=http://%s.%s:%d' % [name, service, clientPort],
        '--listen-client-urls=http://0.0.0.0:%d' % clientPort,
      ],
      ports: [{ name: 'client', containerPort: clientPort }, { name: 'peer', containerPort: peerPort }],
      readinessProbe: { httpGet: { path: '/health', port: clientPort }, periodSeconds: 5 },
      volumeMounts: [{ name: 'data', mountPath: '/var/etcd' }],
    } + vitess.resources(podOptions(etcd))],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
  },
};

function(request)
  local etcd = request.parent;
  local name = etcd.metadata.name;
  local names = ['%s-%d' % [name, index] for index in std.range(0, etcd.spec.size - 1)];
  local pods = vitess.ofKind(request.children, 'Pod.v1');
  local ready = [each.metadata.name for each in vitess.whereHolds(pods, 'Ready') if std.member(names, each.metadata.name)];
  {
    status: {
      size: std.length(pods),
      members: { ready: std.sort(ready), unready: [each for each in names if !std.member(ready, each)] },
      serviceName: name + '-client',
      clientPort: clientPort,
      conditions: [available(std.length(ready), etcd.spec.size)],
    },
    children: [
      service(etcd, name + '-client', clientPort, 'client'),
      service(etcd, name, peerPort, 'peer') { spec+: { clusterIP: 'None', publishNotReadyAddresses: true } },
    ] + [claim(etcd, each) for each in names] + [pod(etcd, each, names) for each in names],
  }
