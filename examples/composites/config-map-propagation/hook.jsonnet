// ConfigMapPropagation in Jsonnet: the same answers to sync as hook.py gives.

local isOpen(namespaces, name) =
  std.objectHas(namespaces, name) && !std.objectHas(namespaces[name].metadata, 'deletionTimestamp');

local copy(source, namespace) = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: source.metadata.name, namespace: namespace },
} + { [field]: source[field] for field in ['data', 'binaryData'] if std.objectHas(source, field) };

function(request)
  local spec = request.parent.spec;
  local related = request.related;
  local sources = std.objectValues(related['ConfigMap.v1']);
  local namespaces = [name for name in spec.targetNamespaces if isOpen(related['Namespace.v1'], name)];
  local copies = [
    copy(source, name)
    for source in sources
    for name in namespaces
    if name != spec.sourceNamespace
  ];
  {
    status: {
      sourceFound: sources != [],
      copies: std.length(copies),
      missingNamespaces: [name for name in spec.targetNamespaces if !std.member(namespaces, name)],
    },
    children: copies,
  }
