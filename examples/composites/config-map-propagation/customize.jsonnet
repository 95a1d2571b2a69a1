// The source and the namespaces: a change of any of them is a reason to call again.

function(request)
  local spec = request.parent.spec;
  {
    relatedResources: [
      {
        apiVersion: 'v1',
        resource: 'configmaps',
        namespace: spec.sourceNamespace,
        names: [spec.sourceName],
      },
      { apiVersion: 'v1', resource: 'namespaces', names: spec.targetNamespaces },
    ],
  }
