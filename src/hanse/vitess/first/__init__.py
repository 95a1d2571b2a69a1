"""The first generation of the Vitess operator, `vitess.io/v1alpha1`: one lambda controller for each layer.

Each of `cluster`, `cell`, `keyspace`, `shard` and `etcd` is a pure function from a parent and its children to the
children that shall exist. The same functions are written in Jsonnet in `examples/vitess/first/hooks`.
"""
