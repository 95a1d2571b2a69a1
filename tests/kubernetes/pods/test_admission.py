"""Admission of elected pods on a real kube-apiserver: the script of the embedded one, and kubectl as a limited user."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.auth.endpoint import Impersonation
from hanse.kube.http import HttpTransport
from tests.behaviour.pod_admission import (
    ATTACKS,
    ENABLED,
    admitting,
    check_allowed,
    check_others,
    check_placeholder,
    check_reinvocation,
    check_server_down,
    labelling,
    refusal,
)
from tests.component.apiserver.admission_webhook import patching, serving
from tests.kubernetes.real import KubectlError

pytestmark = pytest.mark.kubernetes


class Real:
    """A real API server, whose administrator speaks for whomever they like."""

    def __init__(self, cluster, stack):
        self._endpoint = Kubeconfig.load(cluster.kubeconfig).endpoint()
        self._stack, self._clients = stack, {}
        self._runtime = SystemRuntime()
        self.admin = Client(HttpTransport(self._endpoint), self._runtime)
        stack.push_async_callback(self.admin.close)

    def by(self, user, groups=()):
        who = (user, tuple(groups))
        if who not in self._clients:
            as_user = replace(self._endpoint, impersonation=Impersonation(user, groups=who[1]))
            self._clients[who] = Client(HttpTransport(as_user), self._runtime)
            self._stack.push_async_callback(self._clients[who].close)
        return self._clients[who]


async def test_a_real_api_server_admits_and_refuses_as_the_embedded_one_does(host, tmp_path):
    async with AsyncExitStack() as stack:
        stage = Real(host, stack)
        async with admitting(stage) as running, serving(tmp_path) as late:
            await check_placeholder(stage)
            await check_others(stage)
            told = {name: await refusal(stage, attack) for name, attack in ATTACKS.items()}
            wrong = {name: told[name] for name, attack in ATTACKS.items() if not attack.is_told(told[name])}
            assert wrong == {}
            await check_allowed(stage)
            await kubectl_is_refused(host)
            late.answers["/late"] = patching({"op": "add", "path": "/metadata/labels/late.example.com", "value": "yes"})
            await check_reinvocation(stage, labelling(late.config("/late")))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await check_server_down(stage)


async def kubectl_is_refused(host):
    """A person with a shell is told the same."""
    as_anna = ("--as=anna", "-n", ENABLED)
    told = []
    for words in (
        ("annotate", "pod", "victim", "pods.hanse.dev/target=eu"),
        ("label", "pod", "victim", "multicluster.admiralty.io/has-finalizer-"),
        ("annotate", "--overwrite", "pod", "victim", "hanse.dev/author=root"),
    ):
        with pytest.raises(KubectlError) as refused:
            await asyncio.to_thread(host.kubectl, *as_anna, *words)
        told.append(str(refused.value))
    assert all("forbidden" in one and "denied request" in one for one in told), told
