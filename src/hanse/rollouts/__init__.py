"""Front door: applications, rolled out over many clusters one careful step at a time.

An `Application` (a chart, a kustomization or plain manifests, regions, a strategy in steps) has `Release`s; each is
rendered once into Pieces, which the engine carries into the release's clusters, and is given capacity and traffic there
by its targets, as the pure executor says.
"""
