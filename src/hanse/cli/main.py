"""The command line: `hanse` and its commands, each imported when it is called."""

from __future__ import annotations

import click

import hanse
from hanse.cli.lazy import LazyGroup

# Command: the module that has it and what `hanse --help` says of it. Modules load only when their command runs.
_COMMANDS = {
    "up": ("hanse.cli.up", "Start a federation on this machine, with simulated clusters."),
    "down": ("hanse.cli.down", "Stop a federation that was started with `up`."),
    "status": ("hanse.cli.status", "Show the parts of a federation that was started with `up`."),
    "cluster": ("hanse.cli.cluster", "Break and mend simulated clusters."),
    "simulate": ("hanse.cli.simulate", "Rehearse a federation on virtual time, broken by chance or by schedule."),
    "join": ("hanse.cli.join", "Make a cluster a member of the federation."),
    "unjoin": ("hanse.cli.unjoin", "Let a cluster leave the federation."),
    "clusters": ("hanse.cli.clusters", "List the member clusters, cordon and taint them."),
    "kubeconfig": ("hanse.cli.kubeconfig", "Export contexts for the federation and its members."),
    "get": ("hanse.cli.get", "Show objects over all clusters in one table."),
    "tree": ("hanse.cli.tree", "Show what became of an object, down to its pods."),
    "events": ("hanse.cli.events", "Show what happened in the federation and in every cluster."),
    "pods": ("hanse.cli.pods", "Show where pods that were elected to run elsewhere really run, and why."),
    "explain": ("hanse.cli.explain", "Say why each cluster has what it has."),
    "plan": ("hanse.cli.plan", "Show what would change where, as a diff, before it does."),
    "approve": ("hanse.cli.approve", "List what waits for a person's word, or give it."),
    "enable": ("hanse.cli.enable", "Have one more kind of plain objects federated."),
    "disable": ("hanse.cli.disable", "Have a kind of plain objects federated no longer."),
    "federate": ("hanse.cli.federate", "Make federated objects of plain ones, or of a namespace with its contents."),
    "unfederate": ("hanse.cli.unfederate", "Make a plain object of a federated one; clusters keep what they have."),
    "orphaning-deletion": ("hanse.cli.orphaning", "Whether copies stay when their federated object is deleted."),
    "migrate": ("hanse.cli.migrate", "Take over what another system runs, without touching what runs."),
    "rollout": ("hanse.cli.rollout", "Roll applications out over many clusters, step by step."),
    "doors": (
        "hanse.cli.door_commands",
        "Let pods of clusters run elsewhere, or run their controllers; or see where that is so.",
    ),
    "composite": ("hanse.cli.composite", "Write, try and run lambda controllers: from a parent to its children."),
    "vitess": ("hanse.cli.vitess", "Look after a Vitess whose cells are in many clusters."),
    "ingress": ("hanse.cli.ingress", "Make one load balancer for an Ingress in many clusters."),
    "apiserver": ("hanse.cli.apiserver", "Run one Kubernetes API server by itself, with nothing to install."),
    "controller": ("hanse.cli.controller", "Run the control plane against a host API server."),
    "agent": ("hanse.cli.agent", "Do the work of one cluster that fetches it from the federation."),
    "checker": ("hanse.cli.checker", "Probe the addresses of services from here, and have a vote on their health."),
    "balancer": ("hanse.cli.balancer", "Run the global balancer (HAProxy) in front of every cluster."),
    "service": ("hanse.cli.service", "Say where the clients of a service of many clusters are led, and why."),
    "dns": ("hanse.cli.dns", "List the names of services, follow one, or serve them."),
    "mcs": ("hanse.cli.mcs", "Let clusters export services to the others, and import theirs."),
    "policy-hook": ("hanse.cli.policy_hook", "Ask an external policy engine about what is written to a host."),
}


@click.group(
    cls=LazyGroup,
    modules=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(hanse.__version__, prog_name="hanse")
def main() -> None:
    """Run many Kubernetes clusters as one federation."""
