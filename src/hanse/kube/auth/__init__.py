"""Who we are to an API server, how we prove it, and how we know that the server is the right one.

`endpoint` holds the values, `fields` and `users` read them from kubeconfig entries, `service_account` from a pod;
`credentials` and `plugins` keep what is shown to the server fresh, `certificates` builds its TLS; `faults` and
`refusals` say in one sentence what went wrong and what to do.
"""
