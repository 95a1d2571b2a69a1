//go:build components

// Package components pins the upstream etcd binaries that the tests run.
package components

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
