"""The workload controllers of a cluster, in the order in which they are put together."""

from __future__ import annotations

from collections.abc import Callable

from hanse.simulator.workloads.autoscalers import Autoscalers
from hanse.simulator.workloads.cronjobs import CronJobs
from hanse.simulator.workloads.daemonsets import DaemonSets
from hanse.simulator.workloads.deployments import Deployments
from hanse.simulator.workloads.disruptions import DisruptionBudgets
from hanse.simulator.workloads.jobs import Jobs
from hanse.simulator.workloads.pod_garbage import PodGarbage
from hanse.simulator.workloads.replicasets import ReplicaSets, ReplicationControllers
from hanse.simulator.workloads.statefulsets import StatefulSets
from hanse.simulator.world import Behaviour, World

WORKLOADS: tuple[Callable[[World], Behaviour], ...] = (
    Deployments,
    ReplicaSets,
    ReplicationControllers,
    StatefulSets,
    DaemonSets,
    Jobs,
    CronJobs,
    DisruptionBudgets,
    Autoscalers,
    PodGarbage,
)
