"""Speaks Kubernetes and knows nothing of federation.

Client, discovery, watch cache, work queue, controller loop, leases, events, conditions, and the arithmetic of manifests
(patches, selectors, schemas). Everything above talks to any cluster through this room alone.
"""

from hanse.kube.cache import Cache, Change, NotSynced
from hanse.kube.client import Client, ObjList, PatchType
from hanse.kube.conditions import condition, find_condition, is_true, merge_conditions
from hanse.kube.controller import Controller, Terminal
from hanse.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from hanse.kube.events import EventRecorder
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.leases import Deposed, Fenced, Leadership, LeaseTerms
from hanse.kube.manifest import Key, Obj
from hanse.kube.queue import WorkQueue
from hanse.kube.resources import Resource
from hanse.kube.runtime import Runtime, SeededRuntime, SystemRuntime
from hanse.kube.transport import Transport, Unreachable

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Cache",
    "Change",
    "Client",
    "Conflict",
    "Controller",
    "Deposed",
    "Endpoint",
    "EventRecorder",
    "Fenced",
    "Forbidden",
    "Gone",
    "Invalid",
    "Key",
    "Kubeconfig",
    "KubeconfigError",
    "Leadership",
    "LeaseTerms",
    "NotFound",
    "NotSynced",
    "Obj",
    "ObjList",
    "PatchType",
    "Resource",
    "Runtime",
    "SeededRuntime",
    "ServerError",
    "SystemRuntime",
    "Terminal",
    "TooManyRequests",
    "Transport",
    "Unauthorized",
    "Unreachable",
    "WorkQueue",
    "condition",
    "find_condition",
    "is_true",
    "merge_conditions",
]
