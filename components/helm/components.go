//go:build components

// Package components pins the helm binary that the tests run.
package components

import _ "helm.sh/helm/v3/cmd/helm"
