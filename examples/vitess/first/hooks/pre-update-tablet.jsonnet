// Whether a tablet's pod may be taken away now, for another one that comes in its place.
local reparent = import 'reparent.libsonnet';

function(request) reparent.preUpdateChild(request)
