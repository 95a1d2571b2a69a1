"""Reading the same thing from every member at once; a member that does not answer is a value, not an error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from hanse.api.clusters import Cluster
from hanse.cli.connection import connect_member
from hanse.cli.failures import Misuse
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.kubeconfig import KubeconfigError
from hanse.kube.transport import Unreachable

T = TypeVar("T")
_PATIENCE_SECONDS = 5.0


async def ask_members(
    host: Client, clusters: Sequence[Cluster], question: Callable[[Member], Awaitable[T]]
) -> dict[str, T | str]:
    """Ask every member side by side; where one cannot answer, its entry is the sentence that says why."""

    async def ask(cluster: Cluster) -> T | str:
        try:
            member = await connect_member(host, cluster)
        except (ApiError, KubeconfigError, Misuse) as error:
            return str(error)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await question(member)
        except (ApiError, Unreachable) as error:
            return str(error)
        except TimeoutError:
            return f"{member.client.address} did not answer within {_PATIENCE_SECONDS:g} s"
        finally:
            await member.client.close()

    answers = await asyncio.gather(*(ask(cluster) for cluster in clusters))
    return dict(zip((cluster.name for cluster in clusters), answers, strict=True))
