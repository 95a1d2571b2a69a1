// A planned reparent before a tablet is touched that could be the primary.
//
// Which tablet is the primary only Vitess knows, and it may change at any time. So Vitess is told to avoid the tablet
// that is touched next: that moves the primary if it is there, and does nothing if it is not. A Job tells it; the
// shard's status names the Job once it is complete, and until then the tablet is left alone.
local tablets = import 'tablets.libsonnet';
local vitess = import 'vitess.libsonnet';
local vtctl = import 'vtctl.libsonnet';

local digestOf(pod) = std.get(vitess.get(pod.metadata, 'annotations', {}), vitess.digestAnnotation, '');

local readySince(pod) =
  local conditions = [each for each in pod.status.conditions if each.type == 'Ready'];
  if conditions == [] then '' else std.get(conditions[0], 'lastTransitionTime', '');

// Whether a tablet was down after a Job was complete: the primary may have gone anywhere meanwhile.
local isStale(job, since) = vitess.holds(job, 'Complete') && std.get(job.status, 'completionTime', '') < since;

// Where the primary shall be: at any other tablet of the cell, or else at one of another cell.
local target(spec, tablet) =
  local replicas(cell) = [each for each in tablets.tabletsOf(spec, cell) if each.type == 'replica'];
  local elsewhere = [
    replicas(cell)[0]
    for cell in vitess.get(spec, 'cells', [])
    if cell != spec.cell && replicas(cell) != []
  ];
  if tablet.type != 'replica' then []
  else if [each for each in replicas(spec.cell) if each.uid != tablet.uid] != [] then ['-avoid_master', tablet.alias]
  else if elsewhere != [] then ['-new_master', elsewhere[0].alias]
  else [];

{
  local reparent = self,

  isUp(pod):: pod != null && vitess.holds(pod, 'Ready') && !vitess.isDeleting(pod),

  mayBeRelieved(spec, tablet):: target(spec, tablet) != [],

  jobName(spec, tablet, mark):: '%s-reparent-%s-%s' % [spec.cluster, tablet.alias, mark[:6]],

  // The move away from a tablet, which must have been made `since` the last tablet came up.
  local move(shard, tablet, mark, jobs, since) =
    local spec = shard.spec;
    local name = reparent.jobName(spec, tablet, mark);
    local live = std.get(jobs, name);
    local command = ['PlannedReparentShard', '-keyspace_shard', '%s/%s' % [spec.keyspace, spec.name]];
    // One that failed or is stale goes, and another one is made in its place.
    local isVain = live != null && (vitess.holds(live, 'Failed') || isStale(live, since));
    if target(spec, tablet) == [] || isVain then null
    else {
      tablet: tablet,
      job: vtctl.job(shard, name, command + target(spec, tablet), 120),
      done: live != null && vitess.holds(live, 'Complete') && !vitess.isDeleting(live),
    },

  // The move that has to come before the next change of a shard's tablets; null where none has to. Only while all
  // tablets are up and none is on its way out: what was done before one went down may not hold any more.
  nextMove(shard, surplus, pods, jobs)::
    local wanted = tablets.tabletsOf(shard.spec, shard.spec.cell);
    local down = [each for each in surplus + wanted if !reparent.isUp(std.get(pods, each.name))]
                 + std.filter(vitess.isDeleting, std.objectValues(pods));
    local outdated = [
      { tablet: each, digest: digestOf(tablets.podOf(shard, each)) }
      for each in wanted
      if digestOf(pods[each.name]) != digestOf(tablets.podOf(shard, each))
    ];
    local times = std.sort([''] + [readySince(pods[each.name]) for each in surplus + wanted]);
    local since = times[std.length(times) - 1];
    if down != [] then null
    else if surplus != [] then move(shard, surplus[0], 'gone', jobs, since)
    else if outdated != [] then move(shard, outdated[0].tablet, outdated[0].digest, jobs, since)
    else null,

  preUpdateChild(request)::
    local shard = request.parent;
    local uid = std.get(request.desired.metadata.labels, vitess.uidLabel);
    local found = [each for each in tablets.tabletsOf(shard.spec, shard.spec.cell) if each.uidString == uid];
    local name = reparent.jobName(shard.spec, found[0], digestOf(request.desired));
    if found == [] then
      { ready: false, message: 'it is to go, and is not changed any more' }
    else if !reparent.isUp(request.child) || !reparent.mayBeRelieved(shard.spec, found[0]) then
      { ready: true }
    else if vitess.get(vitess.get(shard, 'status', {}), 'reparented', '') == name then
      { ready: true }
    else
      { ready: false, message: 'Job %s moves the primary away from it first' % name },
}
