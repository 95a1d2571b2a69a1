"""Which pod goes to which node, and what is said when none will do: kube-scheduler's rules and words."""
