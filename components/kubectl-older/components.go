//go:build components

// Package components pins the kubectl two minor versions behind the other components, for tests of version skew.
package components

import _ "k8s.io/kubernetes/cmd/kubectl"
