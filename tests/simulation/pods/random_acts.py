"""What people and accidents do in a random world of pods that run elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hanse.api.admiralty.keys import JOB_MANAGER, PARENT_UID, TARGET, TARGET_FINALIZER
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.plain_kinds import CRON_JOBS, JOBS
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    finalizers_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NODES, PODS, SERVICES, Resource
from tests.simulation.pods.random_judge import PodJudge
from tests.simulation.pods.random_world import HOME, Aim, PodFederation
from tests.simulation.pods.world import ELECT
from tests.simulation.random_objects import Chance

T = TypeVar("T")
FILLER = "filler"
SETTINGS = "settings"
# What says it ends by itself after so long.
RUN_SECONDS, _EXIT_CODE = "simulator.hanse.dev/run-seconds", "simulator.hanse.dev/exit-code"
# What fails does so by its name, so that whoever judges it knows.
BAD = "bad"


class NothingThereError(Exception):
    """Somebody wanted to change something and there is nothing of that sort."""


@dataclass(slots=True)
class Stage:
    """A federation, its targets, what happened in it, and chance."""

    federation: PodFederation
    chance: Chance
    aims: Sequence[Aim]
    story: list[str] = field(default_factory=list)
    made: int = 0
    # Bare pods that people made and did not delete, by uid.
    bare: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Client:
        """A user's way to the source."""
        return self.federation.home

    @property
    def judge(self) -> PodJudge:
        """What is true everywhere."""
        return self.federation.judge

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return self.federation.runtime.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await self.federation.runtime.sleep(seconds)

    def say(self, sentence: str) -> None:
        """Add to the story."""
        self.story.append(f"{self.now:8.3f} {sentence}")

    async def tell(self, act: Act) -> None:
        """Have somebody do something, and tell of it."""
        try:
            self.say(await act(self))
        except (NotFound, AlreadyExists, Conflict, Forbidden, NothingThereError) as error:
            self.say(f"came too late: {error}")
        except ApiError as error:
            self.say(f"was refused: {error}")

    def one_of(self, found: Sequence[T]) -> T:
        """Choose, if there is anything."""
        if not found:
            raise NothingThereError("there is nothing of that sort")
        return self.chance.one_of(found)

    def name(self, word: str) -> str:
        """Return a new name; one of what fails says so."""
        self.made += 1
        return f"{BAD if self.chance.happens(0.25) else 'good'}-{word}-{self.made}"

    def present(self, *kinds: Resource) -> list[tuple[Resource, Obj]]:
        """Return what people made in the source and is not on its way out."""
        return [
            (kind, obj)
            for kind in kinds
            for obj in self.judge.of(HOME, kind)
            if not is_deleting(obj) and not obj["metadata"].get("ownerReferences") and PARENT_UID not in labels_of(obj)
            if namespace_of(obj) == "default" and name_of(obj).startswith((BAD, "good"))
        ]


Act = Callable[[Stage], Awaitable[str]]


# What people make


def template(chance: Chance, name: str, *, restart: str, ends: bool) -> Obj:
    """Return a pod template that is to run elsewhere."""
    annotations = {ELECT: ""}
    if ends:
        annotations[RUN_SECONDS] = str(chance.count(1, 40))
        annotations[_EXIT_CODE] = "1" if name.startswith(BAD) else "0"
    container: dict[str, Any] = {"name": "main", "image": "web:1"}
    container["resources"] = {"requests": {"cpu": chance.one_of(("100m", "500m", "1"))}}
    if chance.happens(0.3):
        container["envFrom"] = [{"configMapRef": {"name": SETTINGS}}]
    spec = {"restartPolicy": restart, "containers": [container]}
    return {"metadata": {"labels": {"app": name}, "annotations": annotations}, "spec": spec}


async def bare_pod(stage: Stage) -> str:
    """Make a pod that nobody replaces."""
    name, restart = stage.name("pod"), stage.chance.one_of(("Always", "OnFailure", "Never"))
    body = template(stage.chance, name, restart=restart, ends=restart == "Never" or not name.startswith(BAD))
    if restart == "Always":
        body["metadata"]["annotations"].pop(RUN_SECONDS, None)
    body["metadata"] |= {"name": name, "namespace": "default"}
    made = await stage.home.create(PODS, {"apiVersion": "v1", "kind": "Pod", **body})
    stage.bare[uid_of(made)] = name
    return f"somebody makes pod {name} ({restart})"


async def deployment(stage: Stage) -> str:
    """Make a Deployment."""
    name, replicas = f"good-web-{stage.made}", stage.chance.count(1, 4)
    stage.made += 1
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template(stage.chance, name, restart="Always", ends=False),
    }
    await stage.home.create(DEPLOYMENTS, _object(DEPLOYMENTS, name, spec))
    if stage.chance.happens(0.3):
        service = {"selector": {"app": name}, "ports": [{"port": 80}]}
        await stage.home.create(SERVICES, _object(SERVICES, name, service))
    return f"somebody makes Deployment {name} of {replicas}"


def job_spec(stage: Stage, name: str) -> Obj:
    """Return the spec of a Job; one that is good has all the patience that disruptions ask for."""
    count, restart = stage.chance.count(1, 3), stage.chance.one_of(("Never", "Never", "OnFailure"))
    return {
        "completions": count,
        "parallelism": stage.chance.count(1, count),
        "backoffLimit": 1 if name.startswith(BAD) else 50,
        "template": template(stage.chance, name, restart=restart, ends=True),
    }


async def job(stage: Stage) -> str:
    """Make a Job whose pods go one by one."""
    name = stage.name("job")
    await stage.home.create(JOBS, _object(JOBS, name, job_spec(stage, name)))
    return f"somebody makes Job {name}"


async def whole_job(stage: Stage) -> str:
    """Make a Job that goes as a whole."""
    name = stage.name("whole")
    spec = {**job_spec(stage, name), "managedBy": JOB_MANAGER}
    spec["template"]["metadata"]["annotations"].pop(ELECT)
    await stage.home.create(JOBS, _object(JOBS, name, spec))
    return f"somebody makes whole Job {name}"


async def cron_job(stage: Stage) -> str:
    """Make a CronJob, if there is none."""
    if stage.present(CRON_JOBS):
        raise NothingThereError("one is enough")
    body = template(stage.chance, "good-cron", restart="Never", ends=True)
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"backoffLimit": 50, "template": body}}}
    await stage.home.create(CRON_JOBS, _object(CRON_JOBS, "good-cron", spec))
    return "somebody makes CronJob good-cron"


def _object(kind: Resource, name: str, spec: Obj) -> Obj:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


# What people change


async def delete(stage: Stage) -> str:
    """Delete something that people made."""
    kind, obj = stage.one_of(stage.present(PODS, DEPLOYMENTS, JOBS, CRON_JOBS, SERVICES))
    stage.bare.pop(uid_of(obj), None)
    await stage.home.delete(kind, name_of(obj), "default")
    return f"somebody deletes {kind.kind} {name_of(obj)}"


async def delete_placeholder(stage: Stage) -> str:
    """Delete the placeholder of a Deployment or a Job."""
    found = [pod for pod in stage.judge.of(HOME, PODS) if TARGET in annotations_of(pod) and not is_deleting(pod)]
    pod = stage.one_of(found)
    stage.bare.pop(uid_of(pod), None)
    await stage.home.delete(PODS, name_of(pod), "default")
    return f"somebody deletes placeholder {name_of(pod)}"


async def scale(stage: Stage) -> str:
    """Scale a Deployment."""
    _kind, obj = stage.one_of(stage.present(DEPLOYMENTS))
    replicas = stage.chance.count(0, 4)
    await stage.home.patch(DEPLOYMENTS, name_of(obj), {"spec": {"replicas": replicas}}, "default")
    return f"somebody scales {name_of(obj)} to {replicas}"


async def edit(stage: Stage) -> str:
    """Roll a new image out."""
    _kind, obj = stage.one_of(stage.present(DEPLOYMENTS))
    image = f"web:{stage.chance.count(1, 9)}"
    pod = {"spec": {"containers": [{**obj["spec"]["template"]["spec"]["containers"][0], "image": image}]}}
    await stage.home.patch(DEPLOYMENTS, name_of(obj), {"spec": {"template": pod}}, "default")
    return f"somebody rolls {image} out in {name_of(obj)}"


async def change_settings(stage: Stage) -> str:
    """Change the ConfigMap that pods use."""
    await stage.home.patch(CONFIGMAPS, SETTINGS, {"data": {"color": str(stage.made)}}, "default")
    return "somebody changes the settings"


# What happens in targets, and to them


async def delete_delegate(stage: Stage) -> str:
    """Delete a pod where it runs."""
    place, pod = stage.one_of(_found(stage, PODS))
    await stage.federation.members[place].client.delete(PODS, name_of(pod), "default")
    return f"somebody deletes pod {name_of(pod)} in {place}"


async def delete_chaperon(stage: Stage) -> str:
    """Delete a chaperon."""
    place, chaperon = stage.one_of(_found(stage, POD_CHAPERONS))
    await stage.federation.members[place].client.delete(POD_CHAPERONS, name_of(chaperon), "default")
    return f"somebody deletes chaperon {name_of(chaperon)} in {place}"


async def remove_target(stage: Stage) -> str:
    """Take a target away; it goes once what has pods there was replaced, or has ended."""
    aim = stage.one_of([aim for aim in stage.aims if _is_there(stage, aim)])
    touch(stage, aim)
    await stage.home.delete(aim.kind, aim.name.name, aim.name.namespace)
    return f"somebody takes target {aim.name} away"


async def remake_target(stage: Stage) -> str:
    """Take a target away and bring it back in a moment, if it has gone by then."""
    told = await remove_target(stage)
    stage.say(told)
    await stage.sleep(stage.chance.between(0.0, 1.0))
    return await add_target(stage)


async def forget_target(stage: Stage) -> str:
    """Have a target that is being removed be forgotten with all that runs there, and perhaps come back in a moment."""
    found = [(aim, obj) for aim in stage.aims if (obj := _stored(stage, aim)) is not None and is_deleting(obj)]
    aim, obj = stage.one_of(found)
    touch(stage, aim)
    stage.judge.abandon(aim.cluster)
    left = [each for each in finalizers_of(obj) if each != TARGET_FINALIZER]
    await stage.home.patch(aim.kind, aim.name.name, {"metadata": {"finalizers": left or None}}, aim.name.namespace)
    if stage.chance.happens(0.5):
        stage.say(f"somebody has target {aim.name} forgotten")
        return await add_target(stage)
    return f"somebody has target {aim.name} forgotten"


async def add_target(stage: Stage) -> str:
    """Bring a target back."""
    aim = stage.one_of([aim for aim in stage.aims if not _is_there(stage, aim)])
    await stage.home.create(aim.kind, aim.manifest)
    return f"somebody brings target {aim.name} back"


async def cordon(stage: Stage) -> str:
    """Cordon a virtual node, or end that."""
    aim, off = stage.one_of(stage.aims), stage.chance.happens(0.5)
    await stage.home.patch(NODES, aim.name.node, {"spec": {"unschedulable": off or None}})
    return f"somebody {'cordons' if off else 'uncordons'} {aim.name.node}"


async def fill(stage: Stage) -> str:
    """Have a cluster be full."""
    place = stage.one_of(sorted(stage.federation.members))
    container = {"name": "main", "image": "big", "resources": {"requests": {"cpu": "7950m"}}}
    # Whatever is there already, it is before.
    spec = {"containers": [container], "nodeName": f"{place}-node-1"}
    metadata = {"name": FILLER, "namespace": "kube-system"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    await stage.federation.members[place].client.create(PODS, pod)
    return f"{place} is full"


async def empty(stage: Stage) -> str:
    """Have room in all clusters."""
    for place, member in stage.federation.members.items():
        for pod in stage.judge.of(place, PODS):
            if name_of(pod) == FILLER and not is_deleting(pod):
                await member.client.delete(PODS, name_of(pod), "kube-system")
    return "there is room everywhere"


def touch(stage: Stage, aim: Aim) -> None:
    """Note the placeholders that may have a pod in a target as those that a person has taken something from."""
    for pod in stage.judge.of(HOME, PODS):
        if annotations_of(pod).get(TARGET) == str(aim.name):
            stage.judge.touched.add(uid_of(pod))
    for kind in (POD_CHAPERONS, JOBS):
        for obj in stage.judge.of(aim.cluster, kind):
            stage.judge.touched.add(labels_of(obj).get(PARENT_UID, ""))


def _found(stage: Stage, kind: Resource) -> list[tuple[str, Obj]]:
    return [
        (place, obj)
        for place in stage.federation.members
        for obj in stage.judge.of(place, kind)
        if PARENT_UID in labels_of(obj) and not is_deleting(obj)
    ]


def is_leaving(stage: Stage, aim: Aim) -> bool:
    """Tell whether a target is being removed and has not gone yet."""
    obj = _stored(stage, aim)
    return obj is not None and is_deleting(obj)


def _is_there(stage: Stage, aim: Aim) -> bool:
    return _stored(stage, aim) is not None


def _stored(stage: Stage, aim: Aim) -> Obj | None:
    return next((obj for obj in stage.judge.of(HOME, aim.kind) if name_of(obj) == aim.name.name), None)


MAKING: tuple[Act, ...] = (bare_pod, bare_pod, deployment, job, job, whole_job, cron_job)
CHANGING: tuple[Act, ...] = (delete, delete_placeholder, scale, scale, edit, change_settings)
DISTURBING: tuple[Act, ...] = (
    delete_delegate,
    delete_chaperon,
    remove_target,
    remake_target,
    forget_target,
    add_target,
    cordon,
    fill,
    empty,
)
