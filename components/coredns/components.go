//go:build components

// Package components pins the CoreDNS binary that the tests run.
package components

import _ "github.com/coredns/coredns"
