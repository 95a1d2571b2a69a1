//go:build components

// Package components pins the upstream Vitess programs that the tests run.
package components

import (
	_ "vitess.io/vitess/go/cmd/vtctld"
	_ "vitess.io/vitess/go/cmd/vtctldclient"
	_ "vitess.io/vitess/go/cmd/vtorc"
)
