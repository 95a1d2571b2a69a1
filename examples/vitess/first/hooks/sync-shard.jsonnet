// VitessShard: from the pools of a shard to a volume and a pod for each tablet.
local reparent = import 'reparent.libsonnet';
local tablets = import 'tablets.libsonnet';
local vitess = import 'vitess.libsonnet';

local uidOf(pod) = std.get(vitess.get(pod.metadata, 'labels', {}), vitess.uidLabel, '');

function(request)
  local shard = request.parent;
  local pods = vitess.ofKind(request.children, 'Pod.v1');
  local wanted = tablets.tabletsOf(shard.spec, shard.spec.cell);
  local ready = std.sort([uidOf(each) for each in pods if reparent.isUp(each)]);
  // What is too much and could be the primary stays until the primary is elsewhere.
  local surplus = [
    each
    for each in tablets.surplusReplicas(shard.spec, ready)
    if reparent.mayBeRelieved(shard.spec, each)
  ];
  local move = reparent.nextMove(shard, surplus, request.children['Pod.v1'], request.children['Job.batch/v1']);
  local done = move != null && move.done;
  local staying = wanted + [each for each in surplus if !(done && move.tablet.uid == each.uid)];
  local uids = [each.uidString for each in wanted];
  local present = std.sort([uidOf(each) for each in pods]);
  local lacking = vitess.absent('tablet', uids, ready);
  local leaving = ['tablet %s to go' % uid for uid in present if !std.member(uids, uid)];
  local missing = if lacking != [] then lacking else leaving;
  {
    status: {
      tablets: present,
      readyTablets: ready,
      reparented: if done then move.job.metadata.name else '',
      conditions: [vitess.readyCondition(missing)],
    },
    children: tablets.claims(shard, staying)
              + [tablets.podOf(shard, each) for each in staying]
              + (if move == null then [] else [move.job]),
  }
