"""The seed's Application by kubectl on real clusters, its chart from a repository and rendered by the real Helm."""

import asyncio

from tests.behaviour.rollouts import REGION, the_seeds_application_goes_through_its_steps


async def test_the_seeds_application_goes_through_its_steps(federation):
    await asyncio.to_thread(federation.put_in, "nowhere")
    async with federation.people() as (people, cluster):

        async def join():
            await asyncio.to_thread(federation.put_in, REGION)
            return cluster

        await the_seeds_application_goes_through_its_steps(people, join)
