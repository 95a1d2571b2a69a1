//go:build components

// Package components pins the KubeFed that the tests take over from.
package components

import (
	_ "sigs.k8s.io/kubefed/cmd/controller-manager"
	_ "sigs.k8s.io/kubefed/cmd/kubefedctl"
)
